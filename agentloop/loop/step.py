"""The open step: the tool calls of one reply, from asked for to answered."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from agentloop.loop.actions import Action, Decide, Execute, Resolve
from agentloop.messages import ToolCall, ToolMessage, ToolResult
from agentloop.tools.policy import Decision, Deny, Edit

__all__ = ["CallState", "OpenCall", "OpenStep"]

CallState: TypeAlias = Literal["undecided", "ready", "running", "in_doubt", "done"]


@dataclass(slots=True)
class OpenCall:
    """One call. `arguments` are edited ones, when a person changed them; `result` is set when it is done."""

    key: str
    call: ToolCall
    state: CallState
    arguments: str | None = None
    result: ToolResult | None = None

    @property
    def to_run(self) -> ToolCall:
        return self.call if self.arguments is None else replace(self.call, arguments=self.arguments)


class OpenStep:
    """Calls run one after another, in their order; one that is `parallel` may run beside other parallel ones."""

    def __init__(self, calls: Sequence[OpenCall]) -> None:
        self.calls = list(calls)
        self._by_key = {call.key: call for call in self.calls}

    @staticmethod
    def of(step: int, calls: Sequence[ToolCall], *, decides: bool) -> OpenStep:
        state: CallState = "undecided" if decides else "ready"
        return OpenStep([OpenCall(f"{step}.{call.id}", call, state) for call in calls])

    def __getitem__(self, key: str) -> OpenCall:
        """The call of that key; KeyError when there is none."""
        return self._by_key[key]

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    @property
    def done(self) -> bool:
        return all(call.state == "done" for call in self.calls)

    @property
    def running(self) -> bool:
        return any(call.state == "running" for call in self.calls)

    @property
    def undecided(self) -> tuple[ToolCall, ...]:
        return tuple(call.call for call in self.calls if call.state == "undecided")

    def actions(self, parallel: Set[str], seconds: float | None) -> list[Action]:
        wanted: list[Action] = []
        earlier_open, all_parallel = False, True
        for call in self.calls:
            if call.state == "done":
                continue
            beside = call.call.name in parallel
            if call.state == "undecided":
                wanted.append(Decide(call.key, call.call))
            elif call.state == "in_doubt":
                wanted.append(Resolve(call.key, call.call))
            elif call.state == "ready" and (not earlier_open or (beside and all_parallel)):
                wanted.append(Execute(call.key, call.to_run, seconds))
            earlier_open, all_parallel = True, all_parallel and beside
        return wanted

    def decide(self, key: str, decision: Decision) -> OpenCall:
        call = self[key]
        if isinstance(decision, Deny):
            self.finish(key, ToolResult(f"denied: {decision.reason}", is_error=True, kind="denied"))
        else:
            call.state = "ready"
            if isinstance(decision, Edit):
                call.arguments = decision.arguments
        return call

    def finish(self, key: str, result: ToolResult) -> None:
        call = self[key]
        call.state, call.result = "done", result

    def halt(self, result: ToolResult, *, running: ToolResult | None = None) -> None:
        """Answer every call that has not begun with `result`, and with `running` those that have, when it is given."""
        for call in self.calls:
            if call.state in ("undecided", "ready"):
                self.finish(call.key, result)
            elif call.state in ("running", "in_doubt") and running is not None:
                self.finish(call.key, running)

    def messages(self) -> list[ToolMessage]:
        """The results in the order of the calls; every call must be done."""
        out: list[ToolMessage] = []
        for call in self.calls:
            result = call.result
            if result is None:
                raise ValueError(f"tool call {call.call.id} has no result yet")
            out.append(ToolMessage(call.call.id, result.content, result.is_error, result.kind))
        return out
