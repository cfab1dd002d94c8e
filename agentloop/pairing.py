"""Call/result pairing: the one rule that every server enforces on a history, and its repair.

The rule: a turn with tool calls is followed at once by exactly one result per call, in any order, and a result stands
nowhere else. Calls of one turn have ids that are not empty and differ; the same id may come again in a later turn.
A list that breaks the rule is refused by every server, each time it is sent: one bad pair bricks a conversation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentloop.callids import settle_ids
from agentloop.errors import HistoryError
from agentloop.messages import (
    AssistantMessage,
    Message,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolMessage,
    VendorPart,
    messages_from,
)
from agentloop.repairs import Repair
from agentloop.shapes import as_text

__all__ = ["NOT_RUN_TEXT", "PairedMessages", "Repaired", "check", "groups", "not_run", "repair"]

NOT_RUN_TEXT = "Not run: this call has no result in the history. Call the tool again if its result is still needed."


class PairedMessages(tuple[Message, ...]):
    """Messages that are known to obey the rule, so that `repair` need not look at them again.

    Build one only of messages whose pairing you keep yourself. Slices and sums of it are plain tuples.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Repaired:
    """`messages` obey the rule; `repairs` lists each change, in the order of the messages it was made to."""

    messages: PairedMessages
    repairs: tuple[Repair, ...] = ()


def not_run(call_id: str, text: str = NOT_RUN_TEXT) -> ToolMessage:
    """The result of a call that was not executed."""
    return ToolMessage(call_id, text, is_error=True, kind="not_run")


def repair(messages: Iterable[Message | Mapping[str, Any]]) -> Repaired:
    """Mend the pairing, and nothing else.

    Messages that are right come back as the same objects. A missing or doubled call id gets a fresh one, made from the
    positions of message and call; the same call twice in one turn becomes one. A late result moves up to its call. A
    result without an id goes to the first open call of the turn before it (by `name`, where it has one). An unanswered
    call gets a `not_run` result. Second results, results without a call, and assistant turns that say nothing are left
    out. Nothing of a user or system message is touched. Deterministic, idempotent, linear.

    Dicts are read as by `messages_from`, and raise HistoryError as it does.
    """
    if isinstance(messages, PairedMessages):
        return Repaired(messages)
    given = messages_from(messages)
    pairing = _Pairing()
    for number, message in enumerate(given):
        pairing.add(number, message)
    mended = pairing.finish()
    return Repaired(PairedMessages(mended if pairing.log else given), pairing.repairs())


def check(messages: Iterable[Message | Mapping[str, Any]]) -> None:
    """Raise HistoryError, naming each fault, unless the messages obey the rule."""
    if faults := repair(messages).repairs:
        told = "; ".join(fault.what for fault in faults[:5])
        more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""
        raise HistoryError(f"not a sendable history: {told}{more}. agentloop.history.repair(messages) mends it")


def groups(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Spans [start, stop) that must be kept or left out as a whole, in order; together they cover all messages.

    A turn and its results are one span. So are a turn that holds reasoning or vendor items and the turn after it, when
    no one else spoke between them: the second continues the first.
    """
    spans: list[tuple[int, int]] = []
    previous: Message | None = None
    for index, message in enumerate(messages):
        joins = isinstance(message, ToolMessage) or (isinstance(message, AssistantMessage) and _goes_on(previous))
        if joins and spans:
            spans[-1] = (spans[-1][0], index + 1)
        else:
            spans.append((index, index + 1))
        previous = message
    return spans


def _goes_on(message: Message | None) -> bool:
    if not isinstance(message, AssistantMessage) or not isinstance(message.content, tuple):
        return False
    return any(isinstance(part, (ReasoningPart, VendorPart)) for part in message.content)


# --- the repair ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Turn:
    """A turn with calls. `results[i]` answers `calls[i]`; `arrived` has them as they came; `loose` have no id yet."""

    number: int
    message: AssistantMessage
    calls: tuple[ToolCall, ...]
    results: list[ToolMessage | None]
    arrived: list[ToolMessage] = field(default_factory=list[ToolMessage])
    loose: list[tuple[int, ToolMessage]] = field(default_factory=list[tuple[int, ToolMessage]])
    in_place: bool = True


@dataclass(slots=True)
class _Pairing:
    """One pass over the messages. What a late result may still change is decided in `finish`."""

    out: list[Message | _Turn] = field(default_factory=list["Message | _Turn"])
    log: list[tuple[int, Repair]] = field(default_factory=list[tuple[int, Repair]])
    # The positions that answer to an id, in the latest turn that used it: an older turn never gets a newer result.
    homes: dict[str, tuple[_Turn, deque[int]]] = field(default_factory=dict[str, "tuple[_Turn, deque[int]]"])
    latest: _Turn | None = None

    def add(self, number: int, message: Message) -> None:
        if isinstance(message, ToolMessage):
            self._add_result(number, message)
        elif not isinstance(message, AssistantMessage):
            self.out.append(message)
        elif _calls_of(message):
            self._add_turn(number, message)
        elif _says_nothing(message):
            self._note(number, "an assistant turn that says nothing was left out", message)
        else:
            self.out.append(message)

    def finish(self) -> list[Message]:
        mended: list[Message] = []
        for item in self.out:
            if isinstance(item, _Turn):
                mended.append(item.message)
                mended.extend(self._results_of(item))
            else:
                mended.append(item)
        return mended

    def repairs(self) -> tuple[Repair, ...]:
        return tuple(made for _, made in sorted(self.log, key=lambda entry: entry[0]))

    def _note(self, number: int, what: str, before: Any, after: Any = None) -> None:
        self.log.append((number, Repair(f"message {number}: {what}", before, after)))

    def _add_turn(self, number: int, message: AssistantMessage) -> None:
        written = _calls_of(message)
        calls, _ = settle_ids(written, step=number)
        if calls != message.tool_calls or calls != written:
            mended = _with_calls(message, calls)
            self._note(
                number, "its tool calls were made distinct, each with an id of its own", message.tool_calls, calls
            )
            message = mended
        self.latest = turn = _Turn(number, message, calls, [None] * len(calls))
        self.out.append(turn)
        for call_id, places in _places(written).items():
            self.homes[call_id] = (turn, places)

    def _add_result(self, number: int, result: ToolMessage) -> None:
        if self.latest is not None and not result.tool_call_id.strip():
            self.latest.loose.append((number, result))
        elif (home := self.homes.get(result.tool_call_id)) is None:
            self._note(number, "a tool result without a call was left out", result)
        elif not home[1]:
            self._note(number, "a second result of one call was left out", result)
        else:
            turn, places = home
            if self.out[-1] is not turn:
                turn.in_place = False
                self._note(number, "a late tool result was moved up to its call", result, result)
            turn.arrived.append(self._settle(number, turn, places.popleft(), result))

    def _settle(self, number: int, turn: _Turn, place: int, result: ToolMessage) -> ToolMessage:
        call_id = turn.calls[place].id
        if result.tool_call_id != call_id:
            named = replace(result, tool_call_id=call_id)
            self._note(number, "a tool result was given the id of its call", result, named)
            result = named
        turn.results[place] = result
        return result

    def _results_of(self, turn: _Turn) -> list[ToolMessage]:
        if turn.in_place and len(turn.arrived) == len(turn.calls) and not turn.loose:
            return turn.arrived
        self._settle_loose(turn)
        results: list[ToolMessage] = []
        for call, result in zip(turn.calls, turn.results, strict=True):
            if result is None:
                result = not_run(call.id)
                self._note(turn.number, f"call {call.id} had no result", None, result)
            results.append(result)
        return results

    def _settle_loose(self, turn: _Turn) -> None:
        waiting: dict[Any, deque[int]] = {None: deque()}  # open places, all of them and by the name of the tool
        for place, call in enumerate(turn.calls):
            waiting[None].append(place)
            waiting.setdefault(call.name, deque()).append(place)
        for number, result in turn.loose:
            places = waiting.get(as_text(result.extra.get("name")), deque())
            while places and turn.results[places[0]] is not None:
                places.popleft()
            if places:
                self._settle(number, turn, places[0], result)
            else:
                self._note(number, "a tool result without an id or an open call was left out", result)


def _calls_of(message: AssistantMessage) -> tuple[ToolCall, ...]:
    """The calls among the parts, then those that only `tool_calls` has: in a turn built by hand they may differ."""
    if not isinstance(message.content, tuple):
        return message.tool_calls
    inside = tuple(part for part in message.content if isinstance(part, ToolCall))
    if not inside or inside == message.tool_calls:
        return message.tool_calls
    return inside + tuple(call for call in message.tool_calls if call not in inside)


def _with_calls(message: AssistantMessage, calls: tuple[ToolCall, ...]) -> AssistantMessage:
    """The turn with `calls` in place of its own; among parts each keeps its place, as far as there are places."""
    if not isinstance(message.content, tuple) or not any(isinstance(part, ToolCall) for part in message.content):
        return replace(message, tool_calls=calls)
    rest = deque(calls)
    parts: list[Part] = [
        rest.popleft() if isinstance(part, ToolCall) else part
        for part in message.content
        if rest or not isinstance(part, ToolCall)
    ]
    return replace(message, content=(*parts, *rest), tool_calls=calls)


def _places(written: Sequence[ToolCall]) -> dict[str, deque[int]]:
    """Where the results that name an id belong, by the id as it was written: `settle_ids` keeps the order of the calls
    and leaves out only the repetition of one."""
    places: dict[str, deque[int]] = {}
    seen: set[tuple[str, str, str]] = set()
    position = 0
    for call in written:
        key = (call.id, call.name, call.arguments)
        if call.id.strip() and key in seen:
            continue
        seen.add(key)
        places.setdefault(call.id, deque()).append(position)
        position += 1
    return places


def _says_nothing(message: AssistantMessage) -> bool:
    """Reasoning alone is nothing: no server takes a turn of it back. `audio` refers to speech that the server keeps."""
    if message.extra.get("audio"):
        return False
    if not isinstance(message.content, tuple):
        return not message.content
    spoken = (part for part in message.content if not isinstance(part, ReasoningPart))
    return not any(part.text if isinstance(part, (TextPart, RefusalPart)) else True for part in spoken)
