"""The hinge: what a model is asked, what it answers, and what it yields on the way.

The wire column implements `Model`, the loop column uses it, and neither knows the other. A model's `events(request)`
yields zero or more deltas and then exactly one `ResponseDone`, or raises a `ModelError`. A reply that is not streamed
is an iterator with one event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypedDict

from agentloop.cancel import CancelSignal
from agentloop.messages import AssistantMessage, Message, ToolCall
from agentloop.repairs import Repair

__all__ = [
    "AsyncEventStream",
    "AsyncModel",
    "Attempt",
    "AttemptFailed",
    "EventStream",
    "FinishReason",
    "Model",
    "ModelEvent",
    "ModelRequest",
    "ModelResponse",
    "Options",
    "ReasoningDelta",
    "RefusalDelta",
    "Repair",
    "ResponseDone",
    "TextDelta",
    "ToolCallDelta",
    "ToolChoice",
    "ToolSpec",
    "Usage",
]

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "pause", "error", "other"]
ToolChoice: TypeAlias = str | Mapping[str, Any]


class ToolSpec(Protocol):
    """What a model is told of a tool. `parameters` is a JSON Schema object."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


class Options(TypedDict, total=False):
    """Fields of one model call, named as in Chat Completions; each wire spells them its own way.

    `extra_body` is merged over the JSON body and `extra_headers` over the headers, for what has no name here.
    """

    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    stop: str | Sequence[str] | None
    seed: int | None
    n: int | None
    frequency_penalty: float | None
    presence_penalty: float | None
    logit_bias: Mapping[str, float] | None
    logprobs: bool | None
    top_logprobs: int | None
    response_format: Mapping[str, Any] | None
    parallel_tool_calls: bool | None
    reasoning_effort: str | None
    verbosity: str | None
    modalities: Sequence[str] | None
    audio: Mapping[str, Any] | None
    prediction: Mapping[str, Any] | None
    metadata: Mapping[str, str] | None
    store: bool | None
    user: str | None
    safety_identifier: str | None
    prompt_cache_key: str | None
    prompt_cache_options: Mapping[str, Any] | None
    prompt_cache_retention: str | None
    service_tier: str | None
    moderation: Mapping[str, Any] | None
    web_search_options: Mapping[str, Any] | None
    stream_options: Mapping[str, Any] | None
    extra_body: Mapping[str, Any]
    extra_headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model, in neutral form.

    `instructions` head the request and are no part of the history. `tools` are ToolSpecs or Chat Completions dicts.
    `tool_choice` is "auto", "none", "required", a tool's name, or a Chat Completions object. `seconds` bounds the whole
    call, its retries included; None means no bound. `cancel` stops it from another thread.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec | Mapping[str, Any], ...] = ()
    tool_choice: ToolChoice | None = None
    instructions: str | None = None
    options: Options = field(default_factory=Options)
    stream: bool = False
    seconds: float | None = None
    cancel: CancelSignal | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. `None` means the server did not say. `cached_tokens` and `cache_write_tokens` are part of
    `input_tokens`, `reasoning_tokens` of `output_tokens`. Usages add up; the sum is `complete` if all parts were."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    requests: int = 0
    complete: bool = True

    @property
    def total_tokens(self) -> int | None:
        """Input plus output, as far as they are known; None when neither is."""
        return _add(self.input_tokens, self.output_tokens)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _add(self.input_tokens, other.input_tokens),
            _add(self.output_tokens, other.output_tokens),
            _add(self.cached_tokens, other.cached_tokens),
            _add(self.cache_write_tokens, other.cache_write_tokens),
            _add(self.reasoning_tokens, other.reasoning_tokens),
            self.requests + other.requests,
            self.complete and other.complete,
        )


def _add(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return a if b is None else b
    return a + b


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a request. `error` is None for the one that succeeded; `rule` says why it was tried again or not;
    `wait` is the pause after it in seconds; `safe` tells whether the server had surely not begun to answer."""

    number: int
    error: str | None = None
    status: int | None = None
    rule: str = ""
    wait: float | None = None
    seconds: float | None = None
    safe: bool = False


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A whole reply. `message` is what enters the history.

    `finish_reason` is None when the server gave none; `raw_finish_reason` is the vendor's own word. `raw` is the JSON
    body (for a stream, the body that its chunks amount to). `notes` are harmless normalisations; `repairs` changes of
    meaning. `headers` are the response headers that matter: rate limits, ids, processing time.
    """

    message: AssistantMessage
    finish_reason: FinishReason | None = None
    raw_finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    request_id: str | None = None
    raw: Mapping[str, Any] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def reasoning(self) -> str | None:
        return self.message.reasoning

    @property
    def refusal(self) -> str | None:
        return self.message.refusal

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self.message.tool_calls


# Deltas are made once per chunk: slotted, and not frozen, which would make each of them three times as dear.


@dataclass(slots=True)
class TextDelta:
    text: str
    type: ClassVar[Literal["text_delta"]] = "text_delta"


@dataclass(slots=True)
class ReasoningDelta:
    text: str
    type: ClassVar[Literal["reasoning_delta"]] = "reasoning_delta"


@dataclass(slots=True)
class RefusalDelta:
    text: str
    type: ClassVar[Literal["refusal_delta"]] = "refusal_delta"


@dataclass(slots=True)
class ToolCallDelta:
    """A piece of the call at position `call_index` of the reply. `id` and `name` are what is known of them so far;
    `arguments` is the new piece only."""

    call_index: int
    id: str
    name: str
    arguments: str
    type: ClassVar[Literal["tool_call_delta"]] = "tool_call_delta"


@dataclass(slots=True)
class AttemptFailed:
    """A try failed and will be repeated after `attempt.wait` seconds. Nothing of its reply was passed on."""

    attempt: Attempt
    type: ClassVar[Literal["attempt_failed"]] = "attempt_failed"


@dataclass(slots=True)
class ResponseDone:
    """The last event: the whole reply."""

    response: ModelResponse
    type: ClassVar[Literal["response_done"]] = "response_done"


ModelEvent: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta | ToolCallDelta | AttemptFailed | ResponseDone


class EventStream(Protocol):
    """Yields the events of one call. `close()` closes the HTTP response; generators are such streams."""

    def __iter__(self) -> Iterator[ModelEvent]: ...
    def __next__(self) -> ModelEvent: ...
    def close(self) -> None: ...


class AsyncEventStream(Protocol):
    """The same for `async for`. Close it (`contextlib.aclosing`), or the HTTP response stays open."""

    def __aiter__(self) -> AsyncIterator[ModelEvent]: ...
    def __anext__(self) -> Awaitable[ModelEvent]: ...
    def aclose(self) -> Awaitable[None]: ...


class Model(Protocol):
    """Anything that answers. `provider` and `model` name it in results and errors."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    def events(self, request: ModelRequest) -> EventStream:
        """Zero or more deltas, then one ResponseDone; or raises ModelError."""
        ...


class AsyncModel(Protocol):
    """Anything that answers, for `async for`."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    def events(self, request: ModelRequest) -> AsyncEventStream:
        """As `Model.events`."""
        ...
