"""A history that is sendable whenever it is closed: append-only, with call/result pairing enforced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentloop.errors import HistoryError
from agentloop.messages import AssistantMessage, Message, ToolCall, ToolMessage, message_from_dict
from agentloop.pairing import NOT_RUN_TEXT, PairedMessages, check, not_run

__all__ = ["History"]


class History:
    """The messages of a conversation. It grows and is never shortened; trimming makes a view of it.

    It is *open* while calls of its last turn lack a result: then it takes results for them and nothing else. Whatever
    would break the pairing is refused with HistoryError, which says what to do, and changes nothing. Appending is O(1).
    Dicts are read as by `messages_from`.
    """

    def __init__(self, messages: Iterable[Message | Mapping[str, Any]] = ()) -> None:
        """Start from `messages`; the last turn may be open. HistoryError when they do not pair: mend them first with
        `repair(messages).messages`."""
        self._open: dict[str, ToolCall] = {}
        self._view: PairedMessages | None = None
        if isinstance(messages, PairedMessages):
            self._messages: list[Message] = list(messages)
            return
        self._messages = []
        self.extend(messages)

    def append(self, message: Message | Mapping[str, Any]) -> None:
        """Add one message. Calls must have ids that differ; results must answer an open call."""
        if isinstance(message, Mapping):
            message = message_from_dict(message)
        if isinstance(message, ToolMessage):
            self._answer(message)
        elif self._open:
            waiting = ", ".join(self._open)
            raise HistoryError(f"the calls {waiting} have no result yet: append their ToolMessages, or close()")
        elif isinstance(message, AssistantMessage):
            self._take_turn(message)
        self._messages.append(message)
        self._view = None

    def extend(self, messages: Iterable[Message | Mapping[str, Any]]) -> None:
        """Append each; those before a refused one stay."""
        for message in messages:
            self.append(message)

    def close(self, reason: str = NOT_RUN_TEXT) -> tuple[ToolMessage, ...]:
        """Answer every open call as not run, with `reason` for the model; returns the results that were added."""
        added = tuple(not_run(call_id, reason) for call_id in self._open)
        self.extend(added)
        return added

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last turn that have no result yet, in order."""
        return tuple(self._open.values())

    @property
    def messages(self) -> PairedMessages:
        """All messages. HistoryError while calls are open: what they would send is not legal."""
        if self._open:
            waiting = ", ".join(self._open)
            raise HistoryError(
                f"the calls {waiting} have no result yet: the history cannot be sent; close() answers them"
            )
        if self._view is None:
            self._view = PairedMessages(self._messages)
        return self._view

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def _answer(self, message: ToolMessage) -> None:
        if message.tool_call_id not in self._open:
            waiting = ", ".join(self._open) or "none"
            raise HistoryError(f"no open call {message.tool_call_id!r} for this result (open: {waiting})")
        del self._open[message.tool_call_id]

    def _take_turn(self, message: AssistantMessage) -> None:
        answered = [not_run(call.id) for call in message.tool_calls]
        check((message, *answered))
        self._open = {call.id: call for call in message.tool_calls}
