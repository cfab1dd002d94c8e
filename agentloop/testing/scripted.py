"""A model that answers from a script: for tests of agents, without HTTP."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TypeAlias

from agentloop.errors import ModelError
from agentloop.messages import AssistantMessage
from agentloop.model import (
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from agentloop.parts import ToolCall

__all__ = ["Reply", "ScriptedModel", "Step"]

Reply: TypeAlias = str | ToolCall | Sequence[ToolCall] | AssistantMessage | ModelResponse | ModelError
Step: TypeAlias = Reply | Callable[[ModelRequest], Reply]


@dataclass(slots=True)
class ScriptedModel:
    """Answers request n with step n, for `Agent` and `AsyncAgent` alike.

    A step is a text, a ToolCall or a list of them, a message, a whole ModelResponse, a ModelError to raise, or a
    function of the request that returns one of these. A request beyond the script raises AssertionError; leaving the
    `with` block (or `assert_used_up()`) with steps unused does too. `requests` keeps what was asked. When a request
    asks for streaming, text comes word by word and arguments in two pieces.
    """

    steps: Sequence[Step]
    provider: str = "scripted"
    model: str = "scripted"
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest], init=False)

    def events(self, request: ModelRequest) -> _ScriptedEvents:
        return _ScriptedEvents(self._events(request))

    def assert_used_up(self) -> None:
        unused = len(self.steps) - len(self.requests)
        if unused:
            raise AssertionError(f"{unused} of {len(self.steps)} scripted steps were not asked for")

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.assert_used_up()

    def _events(self, request: ModelRequest) -> Iterator[ModelEvent]:
        number = len(self.requests)
        if number >= len(self.steps):
            raise AssertionError(f"the script has {len(self.steps)} steps, and this is request {number + 1}")
        self.requests.append(request)
        step = self.steps[number]
        reply = step(request) if callable(step) else step
        if isinstance(reply, ModelError):
            raise reply
        response = _response(reply, self.provider, self.model)
        if request.stream:
            yield from _deltas(response)
        yield ResponseDone(response)


class _ScriptedEvents:
    """One iterator for both drivers."""

    def __init__(self, events: Iterator[ModelEvent]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[ModelEvent]:
        return self

    def __next__(self) -> ModelEvent:
        return next(self._events)

    def close(self) -> None:
        self._events = iter(())

    def __aiter__(self) -> AsyncIterator[ModelEvent]:
        return self

    async def __anext__(self) -> ModelEvent:
        for event in self._events:
            return event
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.close()


def _response(reply: Reply, provider: str, model: str) -> ModelResponse:
    if isinstance(reply, ModelResponse):
        return reply if reply.usage.requests else replace(reply, usage=replace(reply.usage, requests=1))
    message = _message(reply)
    return ModelResponse(
        message,
        finish_reason="tool_calls" if message.tool_calls else "stop",
        raw_finish_reason="tool_calls" if message.tool_calls else "stop",
        usage=Usage(requests=1, complete=False),
        model=model,
        provider=provider,
    )


def _message(reply: Reply) -> AssistantMessage:
    if isinstance(reply, AssistantMessage):
        return reply
    if isinstance(reply, str):
        return AssistantMessage(reply)
    if isinstance(reply, ToolCall):
        return AssistantMessage(None, (reply,))
    if isinstance(reply, Sequence):
        return AssistantMessage(None, tuple(reply))
    raise TypeError(f"a scripted step cannot be {type(reply).__name__}: see ScriptedModel")


def _deltas(response: ModelResponse) -> Iterator[ModelEvent]:
    if response.reasoning:
        yield ReasoningDelta(response.reasoning)
    for word in re.findall(r"\S+\s*|\s+", response.text):
        yield TextDelta(word)
    for index, call in enumerate(response.tool_calls):
        half = len(call.arguments) // 2
        yield ToolCallDelta(index, call.id, call.name, call.arguments[:half])
        yield ToolCallDelta(index, call.id, call.name, call.arguments[half:])
