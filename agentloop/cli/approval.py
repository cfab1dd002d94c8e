"""May this call run? The policy says so, or the person at the terminal."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from agentloop.arguments import read_arguments
from agentloop.cli.printable import one_line
from agentloop.cli.rendering import call_text
from agentloop.cli.screen import Line, Screen
from agentloop.errors import ConfigError
from agentloop.messages import ToolCall
from agentloop.tools.policy import Allow, Decision, Edit, Policy, ToolRequest, Verdict, deny, edit, risk_policy

if TYPE_CHECKING:
    from agentloop.cli.settings import Settings

__all__ = ["Approval"]

_CHOICES = "  y(es), n(o) and a reason if you like, e(dit), a(lways, for these arguments), never (this tool)"


class Approval:
    """Decides about calls for one session at a terminal, and remembers `always` and `never` as long as it lasts.

    `policy` answers first; what it asks for is allowed when the tool matches a name in `allow` and the call is no
    riskier than its tool, asked from the person otherwise, and denied when there is no terminal to ask at. `watch` is
    told of each decision: the call's id and name, what was decided, and whether by "policy" or "person".
    """

    def __init__(self, screen: Screen, policy: Policy | None = None, allow: Sequence[str] = ()) -> None:
        self._screen = screen
        self._judge = policy or risk_policy()
        self._allow = tuple(allow)
        self._waiting: dict[str, ToolRequest] = {}
        self._always: set[tuple[str, str]] = set()
        self._never: set[str] = set()
        self.watch: Callable[[str, str, Verdict | Edit, str], None] | None = None

    @staticmethod
    def of(settings: Settings, screen: Screen) -> Approval:
        """From the options. Raises ConfigError for a policy file that cannot be used."""
        from agentloop.tools.policy_file import TomlPolicy

        policy = TomlPolicy.load(settings.policy) if settings.policy else None
        return Approval(screen, policy, settings.allow)

    def policy(self, request: ToolRequest) -> Verdict | Awaitable[Verdict]:
        """For an agent: allow, deny, or "ask" when a person can be asked."""
        verdict = self._judged(request)
        if self.watch and not isinstance(verdict, Awaitable):
            self.watch(request.id, request.name, verdict, "policy")
        return verdict

    def _judged(self, request: ToolRequest) -> Verdict | Awaitable[Verdict]:
        if request.name in self._never:
            return deny("the owner never allows this tool")
        if (request.name, request.canonical) in self._always:
            return Allow()
        verdict = self._judge(request)
        if verdict != "ask":
            return verdict
        if not request.riskier and any(fnmatchcase(request.name, pattern) for pattern in self._allow):
            return Allow()
        if self._screen.can_ask:
            self._waiting[request.id] = request
            return "ask"
        name = one_line(request.name)
        how = f"pass --allow {name}, or --policy FILE"
        if request.riskier:
            how = f"this call is riskier than the tool itself: pass --policy FILE with a rule of risk {request.risk!r}"
        self._screen.note(f"  {name} needs an approval, and there is no terminal to ask at: {how}", "error")
        return deny("it needs an approval, and nobody is there to give one")

    def ask(self, calls: Sequence[ToolCall]) -> dict[str, Decision]:
        """The person's decision on each call that `policy` answered with "ask", by its id. The end of the input is a
        denial."""
        decisions: dict[str, Decision] = {}
        for call in calls:
            decisions[call.id] = decision = self._ask(call, self._waiting.pop(call.id))
            if self.watch:
                self.watch(call.id, call.name, decision, "person")
        return decisions

    def _ask(self, call: ToolCall, request: ToolRequest) -> Decision:
        risk = request.risk or "danger (the tool declares none)"
        shown = (Line(f"  {call_text(call)}", "call"), Line(f"  risk: {risk}", "note"), Line(_CHOICES, "note"))
        self._screen.lines(*shown)
        while True:
            answer = self._screen.ask("  run it? ")
            word, _, reason = (answer or "").strip().partition(" ")
            match word.lower():
                case "y" | "yes":
                    return Allow()
                case "n" | "no":
                    return deny(f"the owner said no: {reason.strip()}" if reason.strip() else "the owner said no")
                case "a" | "always":
                    self._always.add((request.name, request.canonical))
                    return Allow()
                case "never":
                    self._never.add(request.name)
                    return deny("the owner never allows this tool")
                case "e" | "edit":
                    edited = self._edit(call)
                    if edited is not None:
                        return edited
                case _ if answer is None:
                    return deny("the owner did not answer")
                case _:
                    self._screen.note("  please answer y, n, e, a or never")

    def _edit(self, call: ToolCall) -> Edit | None:
        text = self._screen.ask("  arguments, as a JSON object: ", _to_edit(call.arguments))
        if not (text or "").strip():
            return None
        try:
            return edit(text or "")
        except ConfigError as error:
            self._screen.note(f"  {error}", "error")
            return None


def _to_edit(arguments: str) -> str:
    """The arguments on one line, as JSON in which no character hides."""
    value = read_arguments(arguments).value
    text = json.dumps({} if value is None else value, ensure_ascii=False)
    return text if one_line(text) == text else json.dumps(value)
