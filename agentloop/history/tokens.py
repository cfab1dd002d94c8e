"""Counting tokens: the protocol, and the default, an estimate that corrects itself by what providers report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from agentloop.history.estimate import estimate_tokens
from agentloop.history.sizes import SizeCache, message_tokens, tool_tokens
from agentloop.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    VendorPart,
    messages_from,
)
from agentloop.model import ToolSpec, Usage

__all__ = ["EstimateCounter", "LearningCounter", "SizingCounter", "TokenCounter", "holds_media", "silent_truncation"]

AnyMessage = Message | Mapping[str, Any]
AnyTool = ToolSpec | Mapping[str, Any]


class TokenCounter(Protocol):
    """Anything that counts. It is only asked about lists that a server would accept: paired, in order, not empty."""

    def count(self, messages: Sequence[Message], tools: Sequence[AnyTool] = ()) -> int:
        """Input tokens of a request with these messages and tools. Instructions come as a first SystemMessage."""
        ...


@runtime_checkable
class SizingCounter(TokenCounter, Protocol):
    """A counter for which a list is the sum of its messages, and which can tell the size of one of them cheaply."""

    def size(self, message: Message) -> int: ...


@runtime_checkable
class LearningCounter(TokenCounter, Protocol):
    """A counter that learns from what a provider reported for a request."""

    def observe(
        self, messages: Sequence[Message], tools: Sequence[AnyTool], usage: Usage, *, provider: str, model: str
    ) -> None: ...


class EstimateCounter:
    """The default counter: an estimate that needs no vocabulary and corrects itself.

    After `observe` the request that was sent is known exactly, and only what was added to it is estimated. What was
    added since the report before also shows, unless it holds media, how far the estimate is off; new messages are sized
    with that factor, kept per provider and model. A message is sized once and keeps its size, so that what was cut by
    it stays cut. Dicts are read as by `messages_from`. One counter may serve many runs and threads.
    """

    FACTOR_RANGE = (0.4, 3.0)
    CAUTION = 200  # tokens: a report about less than this says more about the template than about the tokenizer

    def __init__(self) -> None:
        self._cache = SizeCache(self._size_message, self._size_tool)
        self._factors: dict[tuple[str, str], float] = {}
        self._model: tuple[str, str] | None = None

    @property
    def factor(self) -> float:
        """What estimates are multiplied by, for the model that answered last."""
        return self._factors.get(self._model, 1.0) if self._model else 1.0

    def count(self, messages: Sequence[AnyMessage], tools: Sequence[AnyTool] = ()) -> int:
        return self._cache.total(messages, tools)

    def size(self, message: AnyMessage) -> int:
        return self._cache.size(message)

    def known(self, messages: Sequence[Message], tools: Sequence[AnyTool] = ()) -> tuple[int, int]:
        """(how many messages, their tokens): the longest beginning of the list whose tokens a provider reported."""
        return self._cache.known(messages, tools)

    def observe(
        self, messages: Sequence[Message], tools: Sequence[AnyTool], usage: Usage, *, provider: str, model: str
    ) -> None:
        """Learn from the usage reported for a request with these messages and tools; no usage teaches nothing."""
        if not usage.input_tokens:
            return
        if self._model != (provider, model):
            if self._model is not None:
                self._cache.clear()  # another tokenizer: neither sizes nor totals hold any longer
            self._model = (provider, model)
        estimated = self.count(messages, tools)
        if silent_truncation(estimated, usage.input_tokens):
            return
        start, before = self._cache.known(messages, tools)
        if not holds_media(messages[start:]):
            off = (usage.input_tokens - before + self.CAUTION) / max(estimated - before + self.CAUTION, 1)
            low, high = self.FACTOR_RANGE
            self._factors[(provider, model)] = min(max(self.factor * off, low), high)
        self._cache.learn(messages, tools, usage.input_tokens)

    def _size_message(self, message: Message) -> int:
        return round(self.factor * message_tokens(message, estimate_tokens))

    def _size_tool(self, tool: AnyTool) -> int:
        return round(self.factor * tool_tokens(tool, estimate_tokens))


def holds_media(messages: Sequence[AnyMessage]) -> bool:
    """Whether there are parts whose size is a guess: images, files, sound, a vendor's own."""
    contents = (message.content for message in messages_from(messages))
    kinds = (ImagePart, FilePart, AudioPart, VendorPart)
    return any(isinstance(part, kinds) for parts in contents if isinstance(parts, tuple) for part in parts)


def silent_truncation(sent: int, reported: int | None) -> str | None:
    """A warning when the input a server reports is far below the estimate of what was sent, or None.

    Some servers cut a prompt that is too long without a word; the estimate is never off by half of a long text. Of
    media (see `holds_media`) it may be: then a warning says nothing.
    """
    if not reported or sent < 1000 or reported * 2 >= sent:
        return None
    return (
        f"the server counted {reported} input tokens of about {sent} that were sent: it may have cut the prompt "
        "silently. Give the model a larger context on the server, or set context_limit and trim here"
    )
