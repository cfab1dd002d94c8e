"""Showing requests as they are sent."""

from __future__ import annotations

import json
from typing import Any

from agentloop.cli.printable import one_line, printable
from agentloop.cli.screen import Line, Screen
from agentloop.http.secrets import is_sensitive, redact_headers, redact_text, redact_url

__all__ = ["ShownTransport", "request_lines"]


class ShownTransport:
    """Shows each request on its way to the transport `inner`, tries after a failure included."""

    def __init__(self, inner: Any, screen: Screen) -> None:
        self._inner = inner
        self._screen = screen

    def handle_request(self, request: Any) -> Any:
        self._screen.lines(*request_lines(request))
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


def _pretty(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body.decode("utf-8", "backslashreplace")
