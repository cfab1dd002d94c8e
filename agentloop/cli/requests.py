"""Showing requests as they are sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from agentloop.cli.printable import one_line, printable
from agentloop.cli.screen import Line, Screen
from agentloop.errors import ConfigError
from agentloop.http.curl import as_curl
from agentloop.http.secrets import is_sensitive, redact_headers, redact_text, redact_url

__all__ = ["ShownTransport", "curl_lines", "request_lines"]


class ShownTransport:
    """Shows each request on its way to the transport `inner`, tries after a failure included. `lines` says how."""

    def __init__(self, inner: Any, screen: Screen, lines: Callable[[Any], Sequence[Line]]) -> None:
        self._inner = inner
        self._screen = screen
        self._lines = lines

    def handle_request(self, request: Any) -> Any:
        self._screen.lines(*self._lines(request))
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


def request_lines(request: Any) -> list[Line]:
    """An httpx request as lines: method and URL, headers, and the body as indented JSON; keys are masked."""
    headers: list[tuple[str, str]] = list(request.headers.multi_items())
    keys = [value.rpartition(" ")[2] for name, value in headers if is_sensitive(name)]
    lines = [Line(one_line(f"  {request.method} {redact_url(request.url, keys)}"), "note")]
    lines += [Line(one_line(f"  {name}: {value}"), "note") for name, value in redact_headers(headers, keys)]
    body = redact_text(_pretty(request.content), keys)
    return [*lines, *(Line(f"  {line}", "note") for line in printable(body).split("\n"))]


def curl_lines(key_variable: str | None) -> Callable[[Any], Sequence[Line]]:
    """How to show a request as a command that can be pasted into bash."""

    def lines(request: Any) -> Sequence[Line]:
        try:
            text = as_curl(request, key_variable=key_variable)
        except ConfigError as error:
            return [Line(one_line(f"  not shown as curl: {error}"), "note")]
        shown = [Line(line, "note") for line in printable(text).rstrip("\n").split("\n")]
        if printable(text) != text:
            shown.append(Line("  control characters are escaped here: this command sends other bytes", "error"))
        return shown

    return lines


def _pretty(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body.decode("utf-8", "backslashreplace")
