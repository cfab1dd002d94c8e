"""When is a request the recorded one, and how do the two differ?

Compared are the method, the URL (query parameters in any order, those that hold keys left out) and the body: JSON by
value, so that key order and white space do not matter and 1 equals 1.0 (but false does not equal 0); anything else byte
by byte. Headers are not compared. What need not match is named, field by field:

    "method"  "host" (scheme, host and port)  "path"  "query"  "query.NAME"  "body"
    "$.metadata.trace"  "$.messages[0].content"  "$.tools[*].function.description"   a place in the JSON body
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from agentloop.errors import ConfigError
from agentloop.http.secrets import is_sensitive, redact_url
from agentloop.testing.exchanges import RecordedRequest
from agentloop.testing.scrubbing import keys_in, scrub_content, scrub_json

__all__ = [
    "ABSENT",
    "CassetteMismatch",
    "Difference",
    "Matcher",
    "Subject",
    "compare",
    "differences",
    "show_differences",
]

_FIELDS = ("method", "host", "path", "query", "body")
_PORTS = {"http": 80, "https": 443}
_STEP = re.compile(r"\.([\w-]+)|\[(\d+|\*)\]|\.(\*)")
ABSENT: Any = object()
SHOWN = 10  # differences in a message
AROUND = 30  # characters of a long text on each side of the first difference


class CassetteMismatch(AssertionError):
    """What was sent is not what the cassette holds: the message says where they differ, or what was never sent."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is compared of one request. Two requests match when their `key` is the same."""

    method: str
    url: str
    query: tuple[tuple[str, str], ...]
    body: Any

    @property
    def key(self) -> str:
        body = repr(self.body) if isinstance(self.body, bytes) else json.dumps(self.body, sort_keys=True)
        return json.dumps([self.method, self.url, self.query, body])


@dataclass(frozen=True, slots=True)
class Difference:
    where: str
    recorded: Any = ABSENT
    sent: Any = ABSENT


class Matcher:
    """Rules of comparison: what to ignore, and the keys that are taken out before comparing."""

    def __init__(self, ignore: Iterable[str] = (), secrets: Iterable[str] = ()) -> None:
        rules = tuple(ignore)
        self._places = [_parse_place(rule) for rule in rules if rule.startswith("$")]
        self._fields = frozenset(rule for rule in rules if not rule.startswith("$"))
        self._secrets = tuple(secrets)
        for rule in self._fields:
            if rule not in _FIELDS and not rule.startswith("query."):
                raise ConfigError(f"ignore: {rule!r} is not one of {', '.join(_FIELDS)}, query.NAME or a place '$...'")

    def subject(self, request: RecordedRequest) -> Subject:
        """Both sides of a comparison are scrubbed in the same way."""
        keys = (*self._secrets, *keys_in(request))
        parts = urlsplit(redact_url(request.url, keys))
        return Subject(
            method="" if "method" in self._fields else request.method,
            url=self._origin(parts.scheme, parts.hostname, parts.port)
            + ("" if "path" in self._fields else parts.path or "/"),
            query=self._query(parts.query),
            body=None if "body" in self._fields else self._body(request.content, keys),
        )

    def _origin(self, scheme: str, host: str | None, port: int | None) -> str:
        if "host" in self._fields:
            return ""
        return f"{scheme}://{host or ''}" + (f":{port}" if port and port != _PORTS.get(scheme) else "")

    def _query(self, query: str) -> tuple[tuple[str, str], ...]:
        if "query" in self._fields:
            return ()
        pairs = parse_qsl(query, keep_blank_values=True)
        return tuple(
            sorted(pair for pair in pairs if f"query.{pair[0]}" not in self._fields and not is_sensitive(pair[0]))
        )

    def _body(self, content: bytes, keys: tuple[str, ...]) -> Any:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return scrub_content(content, keys)
        value = _numbers_by_value(scrub_json(value, keys))
        for place in self._places:
            _remove(value, place)
        return value


def _numbers_by_value(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_numbers_by_value(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _numbers_by_value(item) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _parse_place(rule: str) -> list[str | int]:
    steps: list[str | int] = []
    position = 1
    while position < len(rule):
        found = _STEP.match(rule, position)
        if found is None:
            raise ConfigError(f"ignore: {rule!r} is not a place in a body, such as '$.messages[*].content'")
        name, index, star = found.groups()
        steps.append(name or star or (index if index == "*" else int(index)))
        position = found.end()
    if not steps:
        raise ConfigError("ignore: '$' is the whole body; write 'body'")
    return steps


def _remove(value: Any, place: Sequence[str | int]) -> None:
    step, rest = place[0], place[1:]
    found: list[Any]
    if isinstance(value, list):
        items = cast("list[Any]", value)
        found = (
            list(range(len(items))) if step == "*" else [step] if isinstance(step, int) and step < len(items) else []
        )
    elif isinstance(value, dict):
        found = list(cast("dict[str, Any]", value)) if step == "*" else [step] if step in value else []
    else:
        return
    for name in found:
        if rest:
            _remove(value[name], rest)
        elif isinstance(value, dict):
            del value[name]
        else:
            value[name] = None  # the other items keep their places


def differences(recorded: Subject, sent: Subject) -> list[Difference]:
    """Every place where the two differ, in the order of the recorded one."""
    pairs = (("method", recorded.method, sent.method), ("url", recorded.url, sent.url))
    found = [Difference(name, one, two) for name, one, two in pairs if one != two]
    before, after = dict(recorded.query), dict(sent.query)
    if recorded.query != sent.query:
        found += list(compare(before, after, "query")) or [Difference("query", recorded.query, sent.query)]
    return [*found, *compare(recorded.body, sent.body, "$")]


def compare(recorded: object, sent: object, where: str) -> Iterator[Difference]:
    """The places where two JSON values differ; `where` names the root."""
    same = type(recorded) is type(sent) and recorded == sent
    if isinstance(recorded, dict) and isinstance(sent, dict):
        before, after = cast("dict[str, Any]", recorded), cast("dict[str, Any]", sent)
        for name in {**before, **after}:
            step = f".{name}" if re.fullmatch(r"[\w-]+", name) else f"[{json.dumps(name)}]"
            yield from compare(before.get(name, ABSENT), after.get(name, ABSENT), where + step)
    elif isinstance(recorded, list) and isinstance(sent, list):
        items = zip_longest(cast("list[Any]", recorded), cast("list[Any]", sent), fillvalue=ABSENT)
        for number, (one, two) in enumerate(items):
            yield from compare(one, two, f"{where}[{number}]")
    elif not same:
        yield Difference(where, recorded, sent)


def show_differences(found: Sequence[Difference]) -> str:
    """Lines for a message: the place, and below it what was recorded and what was sent."""
    lines: list[str] = []
    for difference in found[:SHOWN]:
        recorded, sent = _show_pair(difference.recorded, difference.sent)
        lines += [f"  {difference.where}", f"    recorded: {recorded}", f"    sent:     {sent}"]
    if len(found) > SHOWN:
        lines.append(f"  and {len(found) - SHOWN} more")
    return "\n".join(lines)


def _show_pair(recorded: Any, sent: Any) -> tuple[str, str]:
    texts = [_show(value) for value in (recorded, sent)]
    first = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, first - AROUND) if max(map(len, texts)) > 3 * AROUND else 0
    recorded_text, sent_text = (_cut(text, start) for text in texts)
    return recorded_text, sent_text


def _show(value: Any) -> str:
    if value is ABSENT:
        return "(absent)"
    return repr(value) if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int) -> str:
    if text == "(absent)":
        return text
    end = start + 3 * AROUND
    return ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
