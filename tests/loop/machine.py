"""What the tests of the machine share: a run, and outcomes for it."""

from __future__ import annotations

from agentloop.loop.actions import (
    Answered,
    Ask,
    Execute,
    Finished,
    Started,
)
from agentloop.loop.run import Run
from agentloop.loop.state import RunSpec
from agentloop.messages import AssistantMessage, ToolResult, UserMessage
from agentloop.model import ModelResponse, Usage
from agentloop.parts import ToolCall

A = ToolCall("c1", "a", "{}")
B = ToolCall("c2", "b", "{}")


def start(**fields: object) -> Run:
    return Run([UserMessage("go")], spec=RunSpec(**fields))  # pyright: ignore[reportArgumentType]


def reply(
    text: str | None = None, *calls: ToolCall, finish: str | None = None, tokens: int | None = None
) -> ModelResponse:
    reason = finish or ("tool_calls" if calls else "stop")
    usage = Usage(tokens, 0, requests=1) if tokens else Usage(requests=1)
    return ModelResponse(AssistantMessage(text, calls), None if reason == "none" else reason, reason, usage)  # pyright: ignore[reportArgumentType]


def answer(run: Run, response: ModelResponse) -> None:
    [ask] = run.next()
    assert isinstance(ask, Ask)
    run.receive(Started(ask.key), 0.0)
    run.receive(Answered(ask.key, response), 0.0)


def execute(run: Run, text: str = "ok", *, error: bool = False) -> None:
    action = run.next()[0]
    assert isinstance(action, Execute)
    run.receive(Started(action.key), 0.0)
    run.receive(Finished(action.key, ToolResult(text, error, "raised" if error else None)), 0.0)
