"""Reading the argument string of a tool call: what the tool gets, and what goes back to the model.

A history keeps the raw string. Both functions depend on that string alone, so the same history is always sent as the
same bytes. These faults can be mended without guessing; anything else is an error for the model to correct:

- raw control characters inside strings, as in a file's text with real line ends;
- the same object written twice, one after the other;
- one closing brace too many at the end;
- the object wrapped once more in a JSON string.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from agentloop.repairs import Repair

__all__ = ["Arguments", "arguments_to_send", "read_arguments"]


@dataclass(frozen=True, slots=True)
class Arguments:
    """`value` is the object for the tool, or None when `error` tells the model what is wrong with its string.

    `repair` is set when the string had to be mended; such a value must not run a tool whose effect cannot be undone.
    """

    value: dict[str, Any] | None
    error: str | None = None
    repair: Repair | None = None


def read_arguments(raw: str) -> Arguments:
    """The arguments a model wrote. Blank and `null` mean no arguments, which is an empty object and not a repair."""
    if raw.strip() in ("", "null"):
        return Arguments({})
    try:
        value = _load(raw)
    except ValueError as error:
        mended = _mend_text(raw)
        return mended if mended else Arguments(None, _explain(raw, error))
    except RecursionError:
        return Arguments(None, "The arguments are nested too deeply. Send a flatter JSON object.")
    if isinstance(value, dict):
        return Arguments(cast("dict[str, Any]", value))
    mended = _unwrap(raw, value) if isinstance(value, str) else None
    return mended or Arguments(None, f"The arguments must be a JSON object, not {_kind(value)}. Send one JSON object.")


def arguments_to_send(raw: str) -> str:
    """The argument string that goes back on the wire, always a JSON object: a valid one byte for byte, a mended one as
    mended, no arguments as `{}`, and everything else as `{"INVALID_JSON": <raw>}` so that the model sees its fault."""
    read = read_arguments(raw)
    if read.repair is not None:
        return str(read.repair.after)
    if read.value is None:
        return _dump({"INVALID_JSON": raw})
    return raw if raw.lstrip().startswith("{") else "{}"


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse)
_LOOSE = json.JSONDecoder(parse_constant=_refuse, strict=False)  # takes raw control characters inside strings


def _load(text: str) -> Any:
    return _STRICT.decode(text)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _mended(what: str, raw: str, value: Any) -> Arguments | None:
    if not isinstance(value, dict):
        return None
    try:
        after = _dump(value)
    except (ValueError, RecursionError):  # a number beyond the floats became infinite: no JSON could go back
        return None
    return Arguments(cast("dict[str, Any]", value), repair=Repair(f"tool arguments: {what}", raw, after))


def _mend_text(raw: str) -> Arguments | None:
    text = raw.strip()
    try:
        value, end = _STRICT.raw_decode(text)
    except (ValueError, RecursionError):
        return _mend_control_characters(raw, text)
    rest = text[end:].lstrip()
    if rest == "}":
        return _mended("one closing brace too many", raw, value)
    try:
        doubled = json.dumps(_load(rest), sort_keys=True) == json.dumps(value, sort_keys=True)
    except (ValueError, RecursionError):
        return None
    return _mended("the same object twice", raw, value) if doubled else None


def _mend_control_characters(raw: str, text: str) -> Arguments | None:
    try:
        value = _LOOSE.decode(text)
    except (ValueError, RecursionError):
        return None
    return _mended("raw control characters in a string", raw, value)


def _unwrap(raw: str, inner: str) -> Arguments | None:
    try:
        value = _load(inner)
    except (ValueError, RecursionError):
        return None
    return _mended("wrapped in a string", raw, value)


def _explain(raw: str, error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"The arguments are not valid JSON: {str(error)[:100]}. Send one JSON object."
    if error.msg == "Extra data":
        if raw[error.pos :].startswith(("{", "[")):
            return (
                "The arguments hold more than one JSON value, glued together. Make a call of its own for each object."
            )
        return f"The arguments are not valid JSON: text after the end, at character {error.pos}. Send one JSON object."
    if error.msg.startswith("Unterminated string") or error.pos >= len(raw.rstrip()):
        return f"The arguments are cut off after {len(raw)} characters. Send one whole JSON object."
    return f"The arguments are not valid JSON: {error.msg} at character {error.pos}. Send one JSON object."


def _kind(value: Any) -> str:
    match value:
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case _:
            return "an array"
