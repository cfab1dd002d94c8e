"""The scenarios by name, and the scripted one.

`echo` answers with the last user text. A script is a JSON file of replies, given out in order, one per request:

    {"replies": [
      {"calls": [{"name": "get_weather", "arguments": {"city": "Tokyo"}}]},
      {"text": "18 degrees and cloudy."},
      {"text": "Cut in the mid", "finish": "length", "reasoning": "They want more."}
    ]}

A reply has `text`, `reasoning`, `calls` (with `name`, `arguments` and, if you like, `id`) and `finish`, all optional.
`arguments` is an object, or a string that is sent as it is, so that broken JSON can be scripted. A request after the
last reply is refused with an error that says so; a request that a fault answers in the server's place takes none.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.mock.conversation import Call, Question, Reply, Scenario
from agentloop.mock.refusal import refuse
from agentloop.mock.weather import weather

__all__ = ["echo", "read_script", "scenario", "scripted"]


def echo(question: Question) -> Reply:
    return Reply(question.prompt)


_NAMED: dict[str, Scenario] = {"weather": weather, "echo": echo}


def scenario(source: str | Path | Scenario) -> Scenario:
    """The scenario of that name, of that script file, or the function itself. ConfigError for anything else."""
    if callable(source):
        return source
    if isinstance(source, str) and source in _NAMED:
        return _NAMED[source]
    path = Path(source)
    if not path.is_file():
        raise ConfigError(f"there is no scenario {str(source)!r}: use {', '.join(_NAMED)}, or the path of a JSON file")
    return scripted(read_script(path), name=path.name)


def scripted(replies: Sequence[Reply], name: str = "script") -> Scenario:
    """A scenario that gives these replies in order, and then refuses."""
    numbers = itertools.count()

    def next_reply(question: Question) -> Reply:
        number = next(numbers)
        if number >= len(replies):
            refuse(
                f"{name} is used up: it has {len(replies)} replies, and this is request {number + 1}. "
                "Add a reply to it, or start the mock provider again.",
                None,
                "script_used_up",
            )
        return replies[number]

    return next_reply


def read_script(path: Path) -> list[Reply]:
    """The replies of a script file. ConfigError names the file and what is wrong in it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{path}: cannot be read as JSON: {problem}") from problem
    replies: Any = cast("dict[str, Any]", document).get("replies") if isinstance(document, dict) else None
    if not isinstance(replies, list):
        raise ConfigError(f'{path}: a script is an object with a list "replies"')
    return [_reply(item, f"{path}: replies[{i}]") for i, item in enumerate(cast("list[Any]", replies))]


def _reply(value: Any, where: str) -> Reply:
    fields = _fields(value, where, {"text", "reasoning", "finish", "calls"})
    calls = fields.pop("calls", [])
    if not isinstance(calls, list):
        raise ConfigError(f'{where}: "calls" must be a list')
    _only_texts(fields, where)
    return Reply(**fields, calls=tuple(_call(c, f"{where}.calls[{k}]") for k, c in enumerate(cast("list[Any]", calls))))


def _call(value: Any, where: str) -> Call:
    fields = _fields(value, where, {"name", "arguments", "id"})
    if isinstance(fields.get("arguments"), dict):
        fields["arguments"] = json.dumps(fields["arguments"], ensure_ascii=False)
    _only_texts(fields, where)
    if not fields.get("name"):
        raise ConfigError(f'{where}: a call needs a "name"')
    return Call(**fields)


def _fields(value: Any, where: str, known: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: must be an object with any of {', '.join(sorted(known))}")
    fields = dict(cast("dict[str, Any]", value))
    unknown = sorted(fields.keys() - known)
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
    return fields


def _only_texts(fields: Mapping[str, Any], where: str) -> None:
    for key, value in fields.items():
        if not isinstance(value, str):
            raise ConfigError(f"{where}: {key!r} must be a string")
