"""Reading tool calls that a model wrote as text.

A call is JSON with a name (`name` or `tool`) and arguments (`arguments` or `parameters`), bare, in a fence, or between
`<tool_call>` tags; several may follow one another, or stand in a list. It is taken only where nothing else can be
meant:

- the calls end the reply: whatever follows them puts them in doubt;
- before them stands nothing, or, for fences and tags, plain prose that does not speak of an example or a quotation,
  and does not refuse, weigh or ask;
- the tool is one that was offered, and the arguments are a JSON object that needed no mending.

What looks like a call to a known tool and fails one of these is a doubt: it does not run, and the reason can be told to
the model. Everything else is text: JSON of another shape, quoted lines, code in a sentence, fences in a language,
`<think>` blocks.

These are rules about words, and a text can be worded around them: what a call may do is for a policy to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, cast

from agentloop.arguments import read_arguments
from agentloop.shapes import as_dict, as_list

__all__ = ["CALL_FENCES", "CLOSE_TAG", "OPEN_TAG", "TextCall", "TextReply", "read_text"]

OPEN_TAG, CLOSE_TAG = "<tool_call>", "</tool_call>"
CALL_FENCES = ("", "json", "tool_call")

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)(?:\n|\Z)")
# Some servers put the opening tag into the prompt, so that a reply has the closing one only, on a line of its own.
_THINK = re.compile(r"\s*<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?^[ \t]*</think>", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r'"(?:name|tool)"\s*:\s*"([^"\n]{1,200})"')
_SHAPES = tuple({name, arguments} for name in ("name", "tool") for arguments in ("arguments", "parameters"))
# Words of sentences that lead up to something that is shown, not meant. A false alarm costs one turn.
_SHOWS = re.compile(
    r"\b(examples?|e\.g|for instance|samples?|formats?|syntax|templates?|schemas?|usage|document\w*|look(s|ed)? like|"
    r"like (this|so)|such as|quot\w+|says?|said|wrote|written|reads|contain\w*|returned|tried|beispiel\w*|ejemplos?|"
    r"exemples?)\b|[例样]|\b(is|was|are|were)\s*:\s*$|[>»“\"'`]\s*$|^(>|<!--|(from|to|cc|subject|date)\s*:)"
    r"|<[/\w]*(think|thought|reason|analysis)",
    re.IGNORECASE,
)
# Words of sentences that refuse, weigh or ask.
_WEIGHS = re.compile(
    r"\b(would|could|might|shall|may i|should i|if (you|so)|you (can|could|may|should|want)|want me|confirm\w*|not|"
    r"never|cannot|avoid\w*|instead|danger\w*|attack\w*|inject\w*|malicious|nicht|niemals|würde\w*|könnte\w*|ne|pas|"
    r"jamais|nunca)\b|n['’]t\b|不要|[请切]勿|[?？]\s*$",
    re.IGNORECASE,
)
_MOST_TRIES = 50


@dataclass(frozen=True, slots=True)
class TextCall:
    """`arguments` is JSON text of an object."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TextReply:
    """`text` is what the reply says beside its calls. `doubt` tells why something like a call was left in it."""

    text: str
    calls: tuple[TextCall, ...] = ()
    doubt: str | None = None


def read_text(text: str, known: Callable[[str], str | None]) -> TextReply:
    """The calls in a complete reply. `known` gives the offered tool that a name means, or None."""
    if "{" not in text and OPEN_TAG not in text:
        return TextReply(text)
    thought = _THINK.match(text)
    segments = list(_segments(text, thought.end() if thought else 0))
    try:
        start, calls = _taken(segments, known)
    except _DoubtError as doubt:
        return TextReply(text, doubt=str(doubt))
    return TextReply(text[:start].rstrip(), calls) if calls else TextReply(text)


# --- the pieces of a reply -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Segment:
    """A line of prose, a fence, a tag or a JSON value. `body` is what is inside; `whole` is False for what has no
    end."""

    kind: Literal["prose", "code", "fence", "tag", "json"]
    start: int
    end: int
    body: str
    whole: bool = True


def _segments(text: str, at: int) -> Iterator[_Segment]:
    tries = 0
    while (begin := _next_ink(text, at)) < len(text):
        line = text.rfind("\n", at, begin) + 1 or at
        if fence := _FENCE.match(text, line):
            found = _fence(text, line, fence)
        elif text.startswith(OPEN_TAG, begin):
            close = text.find(CLOSE_TAG, begin)
            end = len(text) if close < 0 else close
            body = text[begin + len(OPEN_TAG) : end]
            found = _Segment("tag", begin, min(len(text), end + len(CLOSE_TAG)), body, close >= 0)
        elif text[begin] in "{[" and tries < _MOST_TRIES and (end := _json_end(text, begin)):
            found = _Segment("json", begin, end, text[begin:end])
        else:
            tries += text[begin] in "{["
            end = text.find("\n", begin)
            end = len(text) if end < 0 else end
            found = _Segment("prose", begin, end, text[begin:end])
        yield found
        at = found.end


def _next_ink(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _fence(text: str, line: int, opening: re.Match[str]) -> _Segment:
    marks, info = opening[1], opening[2].strip().lower()
    closing = re.compile(rf"^ {{0,3}}{marks[0]}{{{len(marks)},}}[ \t\r]*$", re.MULTILINE).search(text, opening.end())
    body = text[opening.end() : closing.start() if closing else len(text)]
    kind = "fence" if marks == "```" and info in CALL_FENCES else "code"
    return _Segment(kind, line, closing.end() if closing else len(text), body, closing is not None)


# --- which of them are calls -----------------------------------------------------------------------------------------


class _DoubtError(Exception):
    """Something like a call may not be meant as one; the text says why."""


def _taken(segments: Sequence[_Segment], known: Callable[[str], str | None]) -> tuple[int, tuple[TextCall, ...]]:
    """Where the calls begin, and the calls. Raises _DoubtError."""
    found = [_wanted(segment, known) for segment in segments]
    first = next((place for place, wanted in enumerate(found) if wanted), None)
    if first is None:
        return 0, ()
    before = segments[:first]
    calls = [call for wanted in found for call in wanted or ()]
    meant = [known(name) for name, _ in calls]
    if not any(meant) and (before or not all(found)):
        return 0, ()  # JSON of that shape amid text, which names no tool: data
    for (name, _), tool in zip(calls, meant, strict=True):
        if tool is None:
            raise _DoubtError(f"there is no tool named {name[:80]!r}")
    if not all(found[first:]):
        raise _DoubtError("something else stands after it")
    if any(segment.kind != "prose" for segment in before):
        raise _DoubtError("code stands before it")
    if before and any(segment.kind == "json" for segment in segments):
        raise _DoubtError("text stands before it")
    if any(_SHOWS.search(segment.body) for segment in before):
        raise _DoubtError("it reads like an example or a quotation")
    if any(_WEIGHS.search(segment.body) for segment in before):
        raise _DoubtError("the words before it refuse, weigh or ask")
    return segments[first].start, tuple(
        _read(tool or "", arguments) for tool, (_, arguments) in zip(meant, calls, strict=True)
    )


def _wanted(segment: _Segment, known: Callable[[str], str | None]) -> list[tuple[str, Any]] | None:
    """Names and arguments of the calls that a segment holds, or None when it holds anything else.

    Raises _DoubtError for a tag that holds no calls, and for what only begins like a call to a known tool.
    """
    if segment.kind == "code":
        return None
    values = _values(segment.body) if segment.whole and segment.kind != "prose" else None
    calls = None if values is None else [_call(value) for value in values]
    if calls and all(calls):
        return [call for call in calls if call is not None]
    if segment.kind == "tag":
        raise _DoubtError(
            f"{CLOSE_TAG} is missing"
            if not segment.whole
            else "between the tags must be one JSON object with name and arguments"
        )
    broken = segment.kind == "fence" or segment.body.startswith(("{", "["))
    named = _NAMED.search(segment.body) if values is None and broken else None
    if named and known(named[1]):
        raise _DoubtError("it is not whole, or not valid JSON")
    return None


def _call(value: Any) -> tuple[str, Any] | None:
    """Name and arguments, if the value has the shape of a call and nothing more."""
    fields = as_dict(value)
    if fields.get("type", "function") != "function":
        return None
    fields = {key: item for key, item in fields.items() if key not in ("id", "type")}
    if fields.keys() == {"function"}:
        fields = as_dict(fields["function"])
    if fields.keys() not in _SHAPES:
        return None
    name = fields.get("name", fields.get("tool"))
    return (name, fields.get("arguments", fields.get("parameters"))) if isinstance(name, str) else None


def _read(tool: str, arguments: Any) -> TextCall:
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise _DoubtError("a number in it is too large") from None
    read = read_arguments(text)
    if read.value is None or read.repair is not None:
        raise _DoubtError(read.error or "the arguments must be one JSON object")
    return TextCall(tool, text)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _told_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _refuse("a key twice")


_READER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_told_once)


def _json_end(text: str, at: int) -> int | None:
    try:
        return _READER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None


def _values(body: str) -> list[Any] | None:
    """The values of JSON texts that follow one another, lists opened; None for anything else."""
    values: list[Any] = []
    at = _next_ink(body, 0)
    while at < len(body):
        try:
            value, at = _READER.raw_decode(body, at)
        except (ValueError, RecursionError):
            return None
        fields = as_dict(value)
        inner: Any = fields["tool_calls"] if fields.keys() == {"tool_calls"} else value
        values += as_list(cast("Any", inner)) if isinstance(inner, list) else [inner]
        at = _next_ink(body, at)
    return values
