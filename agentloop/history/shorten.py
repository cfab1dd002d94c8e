"""Shortening old tool results in the view: most of a long run's tokens are outputs that were read once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentloop.errors import ConfigError, ToolError
from agentloop.history.answers import Answer, Pinned, Policy, Send, is_pinned
from agentloop.history.meter import Meter
from agentloop.history.tokens import TokenCounter
from agentloop.messages import AssistantMessage, Message, ToolMessage
from agentloop.pairing import PairedMessages

__all__ = ["ShortenToolResults", "read_result"]


@dataclass(frozen=True, slots=True)
class ShortenToolResults:
    """When a request would pass `high` tokens, long tool results of all but the newest `keep` groups are shortened.

    Results of more than `longer_than` characters keep `shown` of them, from both ends. It is done for all in one go,
    and again only when that saves a tenth of `high`, so that a prefix cache lasts in between. `reader` is the name of
    the tool that gives the rest back (see `read_result`); None mentions no tool. `then` is a policy for what is still
    too long; without one the view is sent as it is. Pinned results stay whole.
    """

    high: int
    keep: int = 3
    longer_than: int = 2000
    shown: int = 400
    reader: str | None = "read_tool_result"
    then: Policy | None = None
    pinned: Pinned = is_pinned

    def __post_init__(self) -> None:
        if self.high < 1 or self.keep < 1 or self.shown < 0 or self.longer_than <= self.shown:
            raise ConfigError(f"{self}: high and keep must be at least 1, shown at least 0 and less than longer_than")

    def __call__(self, messages: Sequence[Message], counter: TokenCounter) -> Answer:
        meter = Meter.of(counter)
        meter.track(messages)
        if not meter.spans:
            return Send(meter.messages)
        if self not in meter.state:
            meter.state[self] = _Shortening(self, meter, meter.fresh())
        shortening: _Shortening = meter.state[self]
        view = shortening.view(meter.fixed)
        return Send(view) if self.then is None else self.then(view, shortening.inner)

    def within(self, limit: int) -> ShortenToolResults:
        bounded = getattr(self.then, "within", None)
        return replace(self, high=min(self.high, limit), then=bounded(limit) if bounded else self.then)

    def fallback(self) -> Policy:
        other = getattr(self.then, "fallback", None)
        return replace(self, then=other()) if other else self

    def shorten(self, message: Message) -> ToolMessage | None:
        """The result as the view shows it once it is old, or None when it is shown whole."""
        if not isinstance(message, ToolMessage) or self.pinned(message) or len(message.text) <= self.longer_than:
            return None
        text, head = message.text, (self.shown + 1) // 2
        tail = text[len(text) - (self.shown - head) :]
        left = len(text) - self.shown
        how = f"; {self.reader}(call_id={message.tool_call_id!r}) gives it in full" if self.reader else ""
        note = f"\n[{left} of {len(text)} characters of this older result are left out here{how}]\n"
        short = f"{text[:head]}{note}{tail}"
        return replace(message, content=short) if len(short) < len(text) else None


def read_result(messages: Sequence[Message], call_id: str, start: int = 0, length: int = 4000) -> str:
    """Characters `start` to `start + length` of the result of a call, for a tool that reads shortened results.

    `messages` is the whole history; of several calls with this id the latest counts. Raises ToolError when there is
    none, or nothing at `start`.
    """
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            if start < 0 or start > len(message.text) or length < 1:
                raise ToolError(f"the result has {len(message.text)} characters: start must be within, length above 0")
            return message.text[start : start + length]
    raise ToolError(f"no result of a call {call_id!r}")


@dataclass(slots=True)
class _Shortening:
    """A fold like `Replay`. Groups before `upto` are shown shortened; `saved[g]` is what that saves in the first g."""

    policy: ShortenToolResults
    meter: Meter
    inner: Meter
    upto: int = 0
    total: int = 0
    saved: list[int] = field(default_factory=lambda: [0])
    shorts: list[tuple[int, ToolMessage]] = field(default_factory=list[tuple[int, ToolMessage]])

    def view(self, fixed: int) -> PairedMessages:
        final = len(self.meter.spans) - 1
        while len(self.saved) - 1 < final:
            self._take(fixed)
        self._settle(final, fixed)
        upto = self._moved(final + 1, fixed + self.meter.sizes[final])
        end = self.meter.spans[upto][0]
        count = bisect_left(self.shorts, end, key=lambda short: short[0])
        if not count:
            return self.meter.messages
        out = list(self.meter.messages)
        for index, short in self.shorts[:count]:
            out[index] = short
        return PairedMessages(out)

    def _settle(self, group: int, fixed: int) -> None:
        """Take the place before `group` as the end of a request, if an assistant turn shows that one was made there."""
        if isinstance(self.meter.messages[self.meter.spans[group][0]], AssistantMessage):
            upto = self._moved(group, fixed)
            self.total -= self.saved[upto] - self.saved[self.upto]
            self.upto = upto

    def _take(self, fixed: int) -> None:
        group = len(self.saved) - 1
        start, stop = self.meter.spans[group]
        self._settle(group, fixed)
        self.total += self.meter.sizes[group]
        whole = self.meter.messages[start:stop]
        shorts = [(at, short) for at, message in enumerate(whole) if (short := self.policy.shorten(message))]
        shown = list(whole)
        for at, short in shorts:
            shown[at] = short
            self.shorts.append((start + at, short))
        saved = self.meter.sizes[group] - self.meter.size(shown) if shorts else 0
        self.saved.append(self.saved[-1] + max(0, saved))

    def _moved(self, groups: int, ahead: int) -> int:
        """How far results are shortened in a request of that many groups; `ahead` is the weight not in `total`."""
        upto = max(self.upto, groups - self.policy.keep)
        worth = self.saved[upto] - self.saved[self.upto] >= max(1, self.policy.high // 10)
        return upto if worth and ahead + self.total > self.policy.high else self.upto
