"""Where a history is cut: a fold over its groups, so that the cuts of earlier requests are found again.

A request was made wherever an assistant turn begins, and one is to be made at the end. At each of these places, in
order, the cut moves on if the view has grown past `high`, and then as far as `low` asks. So the view of a request is a
function of the messages alone, and between two cuts each view is the one before plus what is new.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from agentloop.history.answers import Pinned, is_kept
from agentloop.history.meter import Meter
from agentloop.messages import AssistantMessage, Message, UserMessage
from agentloop.pairing import PairedMessages

__all__ = ["Place", "Replay", "view_from"]


@dataclass(frozen=True, slots=True)
class Place:
    """A cut before group `start`. `head` are the groups before it that stay, in order; `weight` is the view's."""

    start: int
    head: tuple[int, ...]
    weight: int


@dataclass(slots=True)
class Replay:
    """The cuts of the list that `meter` tracks. `weigh(group, kept)` gives a group's share of `high` and `low`.

    What stays before a cut: instructions and pins, and the user message that opens the turn in which the rest begins.
    So a view begins as a conversation does, and never loses its task.
    """

    meter: Meter
    weigh: Callable[[int, bool], int]
    pinned: Pinned
    high: int
    low: int
    start: int = 0
    total: int = 0  # of all groups taken so far
    dropped: int = 0  # of the groups before `start` that are not kept
    weights: list[int] = field(default_factory=list[int])
    kept: list[int] = field(default_factory=list[int])  # the groups that are kept, in order

    def cut(self, fixed: int = 0) -> Place:
        """The cut for a request made now; `fixed` is the weight of what heads it."""
        final = len(self.meter.spans) - 1  # the last group may still grow: it is taken, and given back
        while len(self.weights) < final:
            self._take(fixed)
        self._take(fixed)
        start, dropped = self._moved(fixed)
        place = Place(start, self._head(start), self._weight(start, dropped, fixed))
        self._give_back()
        return place

    def _take(self, fixed: int) -> None:
        group = len(self.weights)
        start, stop = self.meter.spans[group]
        if isinstance(self.meter.messages[start], AssistantMessage):
            self.start, self.dropped = self._moved(fixed)
        kept = any(is_kept(message, self.pinned) for message in self.meter.messages[start:stop])
        if kept:
            self.kept.append(group)
        self.weights.append(self.weigh(group, kept))
        self.total += self.weights[-1]

    def _give_back(self) -> None:
        self.total -= self.weights.pop()
        if self.kept and self.kept[-1] == len(self.weights):
            self.kept.pop()

    def _moved(self, fixed: int) -> tuple[int, int]:
        start, dropped = self.start, self.dropped
        if self._weight(start, dropped, fixed) > self.high:
            while start < len(self.weights) - 1:
                dropped += 0 if self._is_kept(start) else self.weights[start]
                start += 1
                if self._weight(start, dropped, fixed) <= self.low:
                    break
        return start, dropped

    def _weight(self, start: int, dropped: int, fixed: int) -> int:
        opener = self._opener(start)
        return fixed + self.total - dropped + (self.weights[opener] if opener >= 0 else 0)

    def _opener(self, start: int) -> int:
        """The group of the user message that opens the turn of group `start`, if it would be lost; or -1."""
        if start == 0 or start >= len(self.weights) or isinstance(self._first(start), UserMessage):
            return -1
        opener = self.meter.user_before[start]
        return -1 if self._is_kept(opener) else opener

    def _head(self, start: int) -> tuple[int, ...]:
        head = self.kept[: bisect_left(self.kept, start)]
        opener = self._opener(start)
        return tuple(sorted((*head, opener))) if opener >= 0 else tuple(head)

    def _is_kept(self, group: int) -> bool:
        at = bisect_left(self.kept, group)
        return at < len(self.kept) and self.kept[at] == group

    def _first(self, group: int) -> Message:
        return self.meter.messages[self.meter.spans[group][0]]


def view_from(meter: Meter, place: Place) -> PairedMessages:
    """The messages of a cut; the tracked list itself when nothing is left out."""
    if len(place.head) == place.start:
        return meter.messages
    head = [meter.messages[slice(*meter.spans[group])] for group in place.head]
    rest = meter.messages[meter.spans[place.start][0] :]
    return PairedMessages((*(message for group in head for message in group), *rest))
