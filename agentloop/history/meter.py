"""A counter for one conversation: what each of its groups weighs, and what heads every request."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from agentloop.history.tokens import EstimateCounter, LearningCounter, SizingCounter, TokenCounter
from agentloop.messages import Message, SystemMessage, UserMessage, messages_from
from agentloop.model import ToolSpec, Usage
from agentloop.pairing import PairedMessages, groups

__all__ = ["Meter"]

AnyTool = ToolSpec | Mapping[str, Any]


class Meter:
    """A TokenCounter that adds `instructions` and `tools` to each count, and remembers the groups of a growing history.

    `track(messages)` brings `messages`, `spans`, `sizes` and `user_before` up to that list. A list that goes on from
    the tracked one costs what was added (and a comparison in C); any other list starts anew. `state` holds what a
    policy worked out about the tracked list, under a key of its own, and is emptied when the list starts anew. All of
    it can be derived from the messages; it is kept only for speed. Not for use from two threads at once.
    """

    def __init__(
        self, counter: TokenCounter, *, instructions: str | None = None, tools: Sequence[AnyTool] = ()
    ) -> None:
        self.counter = counter
        self.instructions = instructions
        self.tools = tuple(tools)
        self._head: tuple[Message, ...] = (SystemMessage(instructions),) if instructions else ()
        # The class is asked for first, since asking for a protocol is slow.
        self._sizing = counter if isinstance(counter, (EstimateCounter, SizingCounter)) else None
        self.memo: dict[str, Any] = {}
        """What outlives a change of list; whoever keeps something here checks that it still holds."""
        self.margin = 0
        """What is to be kept free below a limit, since whole requests were found to count for more than their parts."""
        self._overhead: int | None = None
        self._fixed: int | None = None
        self._start_anew()

    @staticmethod
    def of(counter: TokenCounter) -> Meter:
        """The counter itself when it is a meter: policies may be called with any counter."""
        return counter if isinstance(counter, Meter) else Meter(counter)

    def fresh(self) -> Meter:
        """A meter with the same counter and head, for another list."""
        return Meter(self.counter, instructions=self.instructions, tools=self.tools)

    def count(self, messages: Sequence[Message], tools: Sequence[AnyTool] = ()) -> int:
        return self.counter.count((*self._head, *messages), self.tools or tools)

    def observe(self, messages: Sequence[Message], usage: Usage, *, provider: str, model: str) -> None:
        """Tell the counter, if it learns, what was reported for a request of these messages."""
        if isinstance(self.counter, (EstimateCounter, LearningCounter)):
            self.counter.observe((*self._head, *messages), self.tools, usage, provider=provider, model=model)

    def known(self, messages: Sequence[Message]) -> tuple[int, int]:
        """(how many of the messages, tokens of the request up to there) that a provider has reported, as far as the
        counter keeps that; (0, 0) otherwise."""
        if not isinstance(self.counter, EstimateCounter):
            return 0, 0
        count, tokens = self.counter.known((*self._head, *messages), self.tools)
        return max(0, count - len(self._head)), tokens

    @property
    def fixed(self) -> int:
        """Tokens of a request that are no message: instructions, tools, overhead."""
        if self._fixed is None:
            if not self.spans:
                return 0
            self._fixed = self.count(self._group(0)) - self.sizes[0]
        return self._fixed

    def track(self, messages: Sequence[Message]) -> None:
        known = len(self.messages)
        if messages is self.messages:
            return
        given = messages if isinstance(messages, PairedMessages) else PairedMessages(messages_from(messages))
        if not self.spans or len(given) < known or given[:known] != self.messages:
            self._start_anew()
            known = 0
        elif len(given) == known:
            return
        # The last group may have grown; all before it are final.
        start = self.spans.pop()[0] if self.spans else 0
        del self.user_before[len(self.spans) :]
        for size in self.sizes[len(self.spans) :]:
            self.total -= size
        del self.sizes[len(self.spans) :]
        self.messages = given
        for first, stop in groups(given[start:]):
            self._add(first + start, stop + start)

    def size(self, messages: Sequence[Message]) -> int:
        """Tokens of one whole group by itself."""
        if self._sizing is not None:
            return sum(map(self._sizing.size, messages))
        return self.counter.count(messages) - (self._overhead or 0)

    def _group(self, index: int) -> tuple[Message, ...]:
        start, stop = self.spans[index]
        return self.messages[start:stop]

    def _add(self, start: int, stop: int) -> None:
        self.spans.append((start, stop))
        if len(self.spans) == 2 and self._overhead is None and self._sizing is None:
            self._find_overhead()
        index = len(self.spans) - 1
        if index == 0:
            self.user_before.append(-1)
        else:
            led_by_user = isinstance(self.messages[self.spans[index - 1][0]], UserMessage)
            self.user_before.append(index - 1 if led_by_user else self.user_before[index - 1])
        self.sizes.append(self.size(self._group(index)))
        self.total += self.sizes[-1]

    def _find_overhead(self) -> None:
        """What each count has on top of its messages: the first two groups apart, less both together."""
        both = self.messages[: self.spans[1][1]]
        apart = self.counter.count(self._group(0)) + self.counter.count(self._group(1))
        self._overhead = max(0, apart - self.counter.count(both))
        self._fixed = None
        self.state.clear()
        self.sizes[0] = self.total = self.size(self._group(0))

    def _start_anew(self) -> None:
        self.messages: PairedMessages = PairedMessages()
        self.spans: list[tuple[int, int]] = []
        self.sizes: list[int] = []
        self.total = 0  # of the sizes
        self.user_before: list[int] = []
        """By group: the latest group before it that a user leads, or -1."""
        self.state: dict[Hashable, Any] = {}
