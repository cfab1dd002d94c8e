"""Tools for models without tool calls: the same agents over the same wires, with calls and results as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from agentloop.messages import AssistantMessage, Message, UserMessage
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, ResponseDone, TextDelta, ToolCallDelta
from agentloop.pairing import repair
from agentloop.parts import Part, TextPart, ToolCall
from agentloop.wire.dialect import Assembler, Encoded, Wire
from agentloop.wire.names import Names, tool_name
from agentloop.wire.text_calls import TextCall, TextReply, read_text
from agentloop.wire.text_hold import TextHold
from agentloop.wire.text_prompt import as_text, describe, hint, offered

__all__ = ["TextToolsWire"]

_ID = re.compile(r"text_(\d+)_\d+")


class TextToolsWire:
    """A wire around another, for `tool_protocol="text"`; see `Wire` for the contract.

    Requests have no tools: the instructions describe them, earlier calls are text of the model, and results are text of
    the user. Replies that are complete are read for calls (see `text_calls`); one with native calls is left as it is.
    The calls get the ids `text_{turn}_{position}`.

    A reply that may hold a call, but not for certain, runs nothing. Once between two messages of the user it has the
    finish reason `pause`: asked again with this reply in the history, the model is told how to call. After that it is
    an answer as any other.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.name = wire.name
        self.path = wire.path
        self.headers: Mapping[str, str] = wire.headers

    def encode(self, request: ModelRequest) -> Encoded:
        repaired = repair(request.messages)
        messages = as_text(_with_hints(repaired.messages, request))
        if demand := _demand(request):
            messages.append(UserMessage(demand))
        told = replace(request, messages=tuple(messages), tools=(), tool_choice=None, instructions=describe(request))
        encoded = self._wire.encode(told)
        left_out = len(request.tools) - len(offered(request)) if request.tool_choice != "none" else 0
        notes = (f"{left_out} tools that cannot be described as text were left out",) if left_out else ()
        return replace(encoded, repairs=(*repaired.repairs, *encoded.repairs), notes=(*encoded.notes, *notes))

    def decode(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return _read(self._wire.decode(body, request), request)

    def filtered(self, body: bytes) -> ModelResponse | None:
        return self._wire.filtered(body)

    def assembler(self, request: ModelRequest) -> Assembler:
        inner = self._wire.assembler(request)
        return _TextAssembler(inner, request) if offered(request) else inner


class _TextAssembler:
    """A streamed reply: what may be a call is held back until it is known."""

    def __init__(self, assembler: Assembler, request: ModelRequest) -> None:
        self.content_seen = False
        self._assembler = assembler
        self._request = request
        self._hold: TextHold | None = TextHold()  # None once the reply has native calls

    @property
    def finished(self) -> bool:
        return self._assembler.finished

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        return self._passed(self._assembler.feed(chunk))

    def end(self) -> Sequence[ModelEvent]:
        return self._passed(self._assembler.end())

    def partial(self) -> ModelResponse | None:
        return self._assembler.partial()

    def _passed(self, events: Sequence[ModelEvent]) -> Sequence[ModelEvent]:
        out: list[ModelEvent] = []
        for event in events:
            if isinstance(event, TextDelta) and self._hold is not None:
                out += _delta(self._hold.feed(event.text))
            elif isinstance(event, ToolCallDelta) and self._hold is not None:
                out += [*_delta(self._hold.rest()), event]
                self._hold = None
            elif isinstance(event, ResponseDone):
                out += self._finish(event)
            else:
                out.append(event)
        self.content_seen = self.content_seen or any(not isinstance(event, ResponseDone) for event in out)
        return out

    def _finish(self, done: ResponseDone) -> list[ModelEvent]:
        native = bool(done.response.tool_calls)
        done.response = _read(done.response, self._request)
        calls = () if native else done.response.tool_calls
        held = self._hold.rest() if self._hold is not None and not calls else ""
        deltas = [ToolCallDelta(place, call.id, call.name, call.arguments) for place, call in enumerate(calls)]
        return [*_delta(held), *deltas, done]


def _delta(text: str) -> list[ModelEvent]:
    return [TextDelta(text)] if text else []


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(response: ModelResponse, request: ModelRequest) -> ModelResponse:
    """The response with the calls that its text holds."""
    if (
        response.tool_calls
        or response.refusal is not None
        or response.finish_reason not in ("stop", "tool_calls", None)
    ):
        return response
    found = _reply(response.text, request)
    if found.calls:
        return _with_calls(response, found, request)
    if found.doubt is None or _was_told(request.messages):
        return response
    note = f"what may be a tool call did not run: {found.doubt}"
    return replace(response, finish_reason="pause", notes=(*response.notes, note))


def _reply(text: str, request: ModelRequest) -> TextReply:
    tools = offered(request)
    return read_text(text, _finder(list(map(tool_name, tools)), Names.of(tools))) if tools else TextReply(text)


def _finder(names: Sequence[str], spelled: Names) -> Callable[[str], str | None]:
    def find(name: str) -> str | None:
        name = name.strip()
        if name in names:
            return name
        meant = spelled.from_wire(name)
        return meant if meant in names else None

    return find


def _with_calls(response: ModelResponse, found: TextReply, request: ModelRequest) -> ModelResponse:
    once = tuple(dict.fromkeys(found.calls))
    notes = ["tool calls were read from the text"]
    if len(once) < len(found.calls):
        notes.append("the same call twice in one reply was read as one")
    calls = _named(once, request.messages)
    message = replace(response.message, content=_without_calls(response.message, found.text), tool_calls=calls)
    return replace(response, message=message, finish_reason="tool_calls", notes=(*response.notes, *notes))


def _named(calls: Sequence[TextCall], history: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls with ids that follow on those before, also where the history was trimmed."""
    turns = [message for message in history if isinstance(message, AssistantMessage)]
    numbers = (int(m[1]) for turn in turns for call in turn.tool_calls if (m := _ID.fullmatch(call.id)))
    turn = max(len(turns), *numbers, 0) + 1
    return tuple(ToolCall(f"text_{turn}_{place}", call.name, call.arguments) for place, call in enumerate(calls, 1))


def _without_calls(message: AssistantMessage, text: str) -> str | tuple[Part, ...] | None:
    if not isinstance(message.content, tuple):
        return text or None
    kept = [part for part in message.content if not isinstance(part, TextPart)]
    place = next((i for i, part in enumerate(message.content) if isinstance(part, TextPart)), 0)
    return (*kept[:place], *((TextPart(text),) if text else ()), *kept[place:]) or None


# --- telling ---------------------------------------------------------------------------------------------------------


def _was_told(history: Sequence[Message]) -> bool:
    """Since the user's last message a reply was in doubt: only such a turn has no calls and is followed by another."""
    for message in reversed(history):
        if isinstance(message, UserMessage):
            return False
        if isinstance(message, AssistantMessage) and not message.tool_calls:
            return True
    return False


def _with_hints(messages: Sequence[Message], request: ModelRequest) -> list[Message]:
    """The history with what the model was told after a reply in doubt, at each place where it was told."""
    tools = offered(request)
    out: list[Message] = []
    for place, message in enumerate(messages):
        out.append(message)
        if not tools or not isinstance(message, AssistantMessage) or message.tool_calls:
            continue
        last = place + 1 == len(messages)
        if last or isinstance(messages[place + 1], AssistantMessage):
            doubt = _reply(message.text, request).doubt
            out += [UserMessage(hint(doubt, tools))] if doubt else []
    return out


def _demand(request: ModelRequest) -> str | None:
    """What `tool_choice` says, in words and at the end, where it moves nothing that a prompt cache holds."""
    choice = request.tool_choice
    if choice in (None, "auto", "none") or not offered(request):
        return None
    if choice == "required":
        return "Call a tool now."
    name = choice if isinstance(choice, str) else tool_name(choice)
    return f"Call the tool {name} now." if name else "Call a tool now."
