"""The mock provider without its sockets: a request goes in, a healthy answer comes out."""

from __future__ import annotations

import hmac
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from agentloop.mock.anthropic import COUNT_TOKENS, MESSAGES
from agentloop.mock.chat import CHAT
from agentloop.mock.conversation import Scenario, limited
from agentloop.mock.dialect import Dialect, Rendering
from agentloop.mock.refusal import Refused, error_body
from agentloop.mock.responses import RESPONSES
from agentloop.testing.fault_steps import Answer

__all__ = ["MODEL", "MockApp"]

MODEL = "agentloop-mock-rules"
_ABOUT = "A rule-driven stand-in for tests and demonstrations. No model answers here."
_DIALECTS: dict[str, Dialect] = {dialect.path: dialect for dialect in (CHAT, RESPONSES, MESSAGES, COUNT_TOKENS)}
_METHODS = {**dict.fromkeys(_DIALECTS, "POST"), **dict.fromkeys(("/models", f"/models/{MODEL}", "/health"), "GET")}


class MockApp:
    """Routes, keys, checks and rendering. It keeps no conversation: every reply follows from its request alone.

    With `require_key`, requests need `Authorization: Bearer KEY` or `x-api-key: KEY`; only /health answers without.
    """

    def __init__(self, scenario: Scenario, require_key: str | None = None) -> None:
        self._scenario = scenario
        self._key = require_key
        self._numbers = itertools.count(1)

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to one request. Header names are in lower case; `target` is the path, with or without /v1."""
        path = _path(target)
        number = next(self._numbers)
        if path not in _METHODS:
            return _refusal(404, error_body(f"Invalid URL ({method} {urlsplit(target).path})"), number)
        if method != _METHODS[path]:
            message = f"Not allowed to {method} on {urlsplit(target).path}; use {_METHODS[path]}."
            return _refusal(405, error_body(message, code="method_not_supported"), number, ("allow", _METHODS[path]))
        if path == "/health":
            return _json(200, {"status": "ok"}, number)
        dialect = _DIALECTS.get(path)
        refused = self._check_key(headers)
        if refused is not None:
            return _refusal(401, refused, number, dialect=dialect)
        if dialect is None:
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "agentloop", "description": _ABOUT}
            return _json(200, {"object": "list", "data": [model]} if path == "/models" else model, number)
        refused = dialect.check_headers(headers)
        if refused is not None:
            return _refusal(400, refused, number, dialect=dialect)
        return self._reply(dialect, headers, body, number)

    def no_answer(self, target: str) -> Answer:
        """The headers that every answer has, for a fault that takes the answer's place."""
        return _json(200, {}, next(self._numbers), _DIALECTS.get(_path(target)))

    def is_model_call(self, method: str, target: str) -> bool:
        """Whether a request asks for a reply; only such requests meet faults."""
        dialect = _DIALECTS.get(_path(target))
        return method == "POST" and dialect is not None and dialect.count is None

    def _check_key(self, headers: Mapping[str, str]) -> dict[str, Any] | None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if "x-api-key" in headers:
            scheme, given = "bearer", headers["x-api-key"]
        if self._key is None:
            return None
        if scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), self._key.encode()):
            return None
        if not given:
            return error_body("You didn't provide an API key. Send it as 'Authorization: Bearer YOUR_KEY'.")
        return error_body("Incorrect API key provided.", code="invalid_api_key")

    def _reply(self, dialect: Dialect, received: Mapping[str, str], body: bytes, number: int) -> Answer:
        try:
            request = json.loads(body)
        except ValueError as problem:
            message = f"We could not parse the JSON body of your request: {problem}."
            return _refusal(400, error_body(message), number, dialect=dialect)
        refused = dialect.check(request) or dialect.check_both(request, received)
        if refused is not None:
            return _refusal(400, refused, number, dialect=dialect)
        if dialect.count is not None:
            return _json(200, dialect.count(request), number, dialect)
        try:
            question = dialect.read(request)
            reply = limited(self._scenario(question), question)
        except Refused as problem:
            return _refusal(400, problem.body, number, dialect=dialect)
        rendering = Rendering(request, f"mock-{number}", MODEL)
        if request.get("stream"):
            pieces = tuple(dialect.streamed(reply, rendering))
            headers = _headers(number, "text/event-stream; charset=utf-8", dialect)
            return Answer(200, headers, pieces, stream=True, told=_told(number, dialect))
        return _json(200, dialect.whole(reply, rendering), number, dialect)


def _path(target: str) -> str:
    path = urlsplit(target).path
    return path.removeprefix("/v1") if path.startswith("/v1/") else path


def _request_id(number: int) -> str:
    return f"req-mock-{number}"


def _headers(number: int, content_type: str, dialect: Dialect | None) -> tuple[tuple[str, str], ...]:
    id_header = dialect.id_header if dialect else "x-request-id"
    return (("content-type", content_type), ("server", "agentloop-mock"), (id_header, _request_id(number)))


def _json(status: int, body: Mapping[str, Any], number: int, dialect: Dialect | None = None) -> Answer:
    data = json.dumps(body, ensure_ascii=False).encode()
    return Answer(status, _headers(number, "application/json", dialect), (data,), told=_told(number, dialect))


def _told(number: int, dialect: Dialect | None) -> Callable[[dict[str, Any], int], Mapping[str, Any]]:
    """How the dialect says an error that a fault makes."""
    return lambda error, status: dialect.refusal(error, status, _request_id(number)) if dialect else error


def _refusal(
    status: int, body: Mapping[str, Any], number: int, *more: tuple[str, str], dialect: Dialect | None = None
) -> Answer:
    told = dialect.refusal(body, status, _request_id(number)) if dialect else body
    answer = _json(status, told, number, dialect)
    return Answer(status, (*answer.headers, *more), answer.pieces)
