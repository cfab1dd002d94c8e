"""A call as a Python script: with agentloop's client where that sends the same, and else with httpx."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import unquote_plus

from agentloop.cli.curl_line import CurlCall
from agentloop.cli.shell_words import Variable, Word, filled, joined, plain
from agentloop.errors import AgentLoopError, ConfigError
from agentloop.http.curl import split_scheme, variable_for
from agentloop.http.secrets import holds_key, is_sensitive, redact_text
from agentloop.shapes import as_dict

__all__ = ["script", "variables_of", "without_keys"]

_ENDPOINT = "/chat/completions"
_STAND_IN = "sk-stand-in-0000"  # never sent: the two requests are only built and compared
_WIDTH = 100
_LOGIN = Variable("USER_AND_PASSWORD")
_SECRET_NAMES = "(?:x-)?api[-_]?key|authorization|password|secret|access[-_]?token"
_SECRET_FIELDS = rf'(?i)"(?:{_SECRET_NAMES})"\s*:\s*"[^"]{{8,}}"|(?:^|&)(?:{_SECRET_NAMES})=[^&]{{8,}}'


def without_keys(call: CurlCall) -> CurlCall:
    """The same call with variables in place of the keys that were pasted with it. Raises ConfigError when the body
    holds one of them, or something else that looks like a key."""
    keys = _Keys(call.host)
    headers: list[tuple[str, Word]] = []
    for name, value in call.headers:
        scheme, secret = split_scheme(plain(value))
        if is_sensitive(name) and value != ("",) and not _is_variable(scheme, value):
            value = joined([scheme, keys.variable(name, secret)])
        headers.append((name, value))
    body = plain(call.body or ())
    if holds_key(body, keys.found):
        raise ConfigError("the body holds the key itself, which a script must not show: take it out of the text")
    if redact_text(body) != body or re.search(_SECRET_FIELDS, body):
        raise ConfigError("the body holds what looks like a key, which a script must not show: take it out of the text")
    login = None if call.login is None else (_LOGIN,)
    return replace(call, url=_url_without_keys(call.url, keys), headers=headers, login=login)


def variables_of(call: CurlCall) -> tuple[str, ...]:
    """The variables that the script of this call reads."""
    words = [call.url, *(value for _, value in call.headers), call.body or (), call.login or ()]
    return tuple(dict.fromkeys(piece.name for word in words for piece in word if isinstance(piece, Variable)))


class _Keys:
    """The secrets that were pasted, each with a variable of its own."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._names: dict[str, str] = {}

    @property
    def found(self) -> list[str]:
        return list(self._names)

    def variable(self, name: str, secret: str) -> Variable:
        if secret not in self._names:
            usual = variable_for(name, self._host)
            names = itertools.chain([usual], (f"{usual}_{number}" for number in itertools.count(2)))
            self._names[secret] = next(name for name in names if name not in self._names.values())
        return Variable(self._names[secret])


def _is_variable(scheme: str, value: Word) -> bool:
    return len(value) > 0 and isinstance(value[-1], Variable) and value[:-1] in ((), (scheme,))


def _url_without_keys(url: Word, keys: _Keys) -> Word:
    pieces: list[str | Variable] = []
    for piece in url:
        parts = re.split(r"(?<=[?&])([^&=]*)=([^&]+)", piece) if isinstance(piece, str) else []
        if not parts:
            pieces.append(piece)
        for place in range(0, len(parts), 3):
            pieces.append(parts[place])
            if place + 2 < len(parts):
                name, value = unquote_plus(parts[place + 1]), parts[place + 2]
                pieces += [f"{parts[place + 1]}=", keys.variable(name, value) if is_sensitive(name) else value]
    return joined(pieces)


def script(call: CurlCall) -> str:
    """A script that sends the same call. No key is in it."""
    hidden = without_keys(call)
    plainly = hidden.insecure or hidden.follow or hidden.login is not None
    code = (None if plainly else _client_script(hidden)) or _httpx_script(hidden)
    return "import os\n" + code if "os.environ" in code else code.lstrip("\n")


# --- with the client -------------------------------------------------------------------------------------------------


def _client_script(call: CurlCall) -> str | None:
    """None when the client would not send the same JSON to the same URL with the same kind of key."""
    body = _json_of(call)
    fits = call.method == "POST" and plain(call.url).endswith(_ENDPOINT)
    if not fits or not body or not isinstance(body.get("model"), str):
        return None
    base: Word = (*call.url[:-1], str(call.url[-1]).removesuffix(_ENDPOINT))
    for named in (True, False):
        ask = _ask(body, named=named)
        if _sends_the_same(call, base, body, ask):
            bound = {"seconds": call.seconds} if call.seconds else {}
            return _client_code(call, base, body, ask | bound)
    return None


def _ask(body: Mapping[str, Any], *, named: bool) -> dict[str, Any]:
    """The keywords of `respond`: fields by name as far as they have one, the others in `extra_body`."""
    from agentloop.wire.options import FIELDS

    known = {"tools", "tool_choice", *(FIELDS if named else ("stream_options",))}
    others = {name: value for name, value in body.items() if name not in {*known, "model", "messages", "stream"}}
    ask = {name: value for name, value in body.items() if name in known}
    return {**ask, "extra_body": others} if others else ask


def _sends_the_same(call: CurlCall, base: Word, body: dict[str, Any], ask: dict[str, Any]) -> bool:
    from agentloop.http.client import Client

    key = _key_of(call)
    try:
        with Client(_address(base), model=body["model"], api_key=_STAND_IN if key else None) as client:
            request = client.build_request(body["messages"], stream=bool(body.get("stream")), **ask)
    except (AgentLoopError, TypeError, AttributeError, KeyError):
        return False
    sent = json.loads(request.content)
    if body.get("stream") and "stream_options" not in body:
        sent.pop("stream_options", None)
    named = {name.lower() for name, _ in call.headers if is_sensitive(name)}
    used = {name for name in request.headers if is_sensitive(name)}
    asked = body if body.get("stream") else {name: value for name, value in body.items() if name != "stream"}
    return sent == asked and named == used and str(request.url) == _address(call.url)


def _address(word: Word) -> str:
    """A URL for the comparison, also where a variable names the server."""
    begins = isinstance(word[0], Variable)
    return "http://server.invalid" + plain(word[1:]) if begins else plain(word)


def _key_of(call: CurlCall) -> Word | None:
    value = call.header("authorization") or call.header("api-key") or call.header("x-api-key")
    return value and tuple(piece for piece in value if isinstance(piece, Variable))


def _client_code(call: CurlCall, base: Word, body: dict[str, Any], ask: dict[str, Any]) -> str:
    streams = bool(body.get("stream"))
    key = _key_of(call)
    api_key = f", api_key={_expression(key)}" if key else ""
    lines = ["", "from agentloop import Client", ""]
    if streams and "stream_options" not in body:
        lines.append("# The client also asks for the usage, which comes at the end of the stream.")
    lines.append(f"with Client({_expression(base)}, model={_string(body['model'])}{api_key}) as client:")
    arguments = [_literal(body["messages"], 8), *(f"{name}={_literal(value, 8)}" for name, value in ask.items())]
    listed = "".join(f"        {argument},\n" for argument in arguments)
    if not streams:
        lines += [f"    response = client.respond(\n{listed}    )", "print(response.text or response.tool_calls)"]
        return "\n".join(lines) + "\n"
    lines += [
        f"    with client.stream(\n{listed}    ) as events:",
        "        for event in events:",
        '            if event.type == "text_delta":',
        '                print(event.text, end="", flush=True)',
    ]
    return "\n".join(lines) + "\n"


# --- with httpx ------------------------------------------------------------------------------------------------------


def _httpx_script(call: CurlCall) -> str:
    body = _json_of(call)
    pairs = ", ".join(f"({_string(name)}, {_expression(value)})" for name, value in call.headers)
    arguments = [_string(call.method), _expression(call.url), f"headers=[{pairs}]"]
    if body is not None:
        arguments.append(f"json={_literal(body, 4)}")
    elif call.body is not None:
        arguments.append(f"content={_expression(call.body)}")
    if call.login is not None:
        arguments.append(f'auth=httpx.BasicAuth(*os.environ["{_LOGIN.name}"].split(":", 1))')
    arguments.append(f"timeout={call.seconds if call.seconds else None}")
    options = [*(["verify=False"] if call.insecure else []), *(["follow_redirects=True"] if call.follow else [])]
    listed = "".join(f"    {argument},\n" for argument in [*arguments, *options])
    if body is not None and body.get("stream"):
        read = "    for line in response.iter_lines():\n        print(line)\n"
        return f"\nimport httpx\n\nwith httpx.stream(\n{listed}) as response:\n{read}"
    return f"\nimport httpx\n\nresponse = httpx.request(\n{listed})\nprint(response.status_code, response.text)\n"


def _json_of(call: CurlCall) -> dict[str, Any] | None:
    """The body when it is a JSON object that no variable takes part in."""
    if call.body is None or not all(isinstance(piece, str) for piece in call.body):
        return None
    try:
        return as_dict(json.loads(filled(call.body, {}))) or None
    except ValueError:
        return None


def _expression(word: Sequence[str | Variable]) -> str:
    pieces = [f'os.environ["{p.name}"]' if isinstance(p, Variable) else _string(p) for p in word if p]
    return " + ".join(pieces) or '""'


def _literal(value: Any, indent: int) -> str:
    """A JSON value as Python writes it, on one line where it fits."""
    inner = indent + 4
    match value:
        case str():
            return _string(value)
        case dict():
            items = cast("dict[str, Any]", value).items()
            parts = [f"{_string(name)}: {_literal(item, inner)}" for name, item in items]
            return _enclosed("{", parts, "}", indent)
        case list():
            return _enclosed("[", [_literal(item, inner) for item in cast("list[Any]", value)], "]", indent)
        case _:
            return repr(value)


def _enclosed(opening: str, parts: list[str], closing: str, indent: int) -> str:
    line = opening + ", ".join(parts) + closing
    if len(line) + indent <= _WIDTH and "\n" not in line:
        return line
    blanks = "\n" + " " * indent
    return opening + "".join(f"{blanks}    {part}," for part in parts) + blanks + closing


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)
