"""Every error that agentloop raises.

AgentLoopError
├── ConfigError                 no key, unknown provider, bad tool signature: fix the program
├── ModelError                  asking the model failed
│   ├── TransportError          no answer: DNS, connect, TLS, reset                    retryable
│   │   └── ModelTimeout        says which timeout: connect, first byte, idle, total   retryable
│   ├── StatusError             the server said no: HTTP >= 400, or an error body inside a 200
│   │   ├── AuthError           401 403
│   │   ├── RequestRejected     400 404 413 422
│   │   │   └── ContextOverflow prompt too long
│   │   ├── QuotaExceeded       402, or a 429 that waiting cannot mend                 not retryable
│   │   ├── RateLimited         429 with retry_after                                   retryable
│   │   └── ServerError         408 409 5xx 529                                        retryable
│   └── ProtocolError           2xx but not what the wire promises
│       └── StreamInterrupted   the stream ended without a finish
├── ToolError                   raised by a tool to tell the model what went wrong
├── HistoryError                call/result pairing broken
├── RunError                    raise_for_status() of a run that did not answer
└── SessionError                store missing, locked, damaged, or in the wrong state

Messages say what to do next and never hold a key. `retryable` says whether sending the same request again may help;
whoever raises the error decides it from what the server said, and the class gives the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from agentloop.model import Attempt, ModelResponse

__all__ = [
    "AgentLoopError",
    "AuthError",
    "ConfigError",
    "ContextOverflow",
    "HistoryError",
    "ModelError",
    "ModelTimeout",
    "ProtocolError",
    "QuotaExceeded",
    "RateLimited",
    "RequestRejected",
    "RunError",
    "ServerError",
    "SessionError",
    "StatusError",
    "StreamInterrupted",
    "ToolError",
    "TransportError",
]


class AgentLoopError(Exception):
    """The root: `except AgentLoopError` catches all that agentloop raises on purpose."""


class ConfigError(AgentLoopError, ValueError):
    """The program or its environment is wrong; the message names the setting and what it should be."""


class ModelError(AgentLoopError):
    """Asking the model failed.

    `partial` is what had arrived of the reply, or None. `attempts` lists every try, the first and the last included.
    `retryable` tells whether the same request may be sent again.
    """

    retryable_by_default: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        request_id: str | None = None,
        attempts: Sequence[Attempt] = (),
        partial: ModelResponse | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.model = model
        self.request_id = request_id
        self.attempts: list[Attempt] = list(attempts)
        self.partial = partial
        self.retryable = self.retryable_by_default if retryable is None else retryable

    def __str__(self) -> str:
        where = " ".join(part for part in (self.provider, self.model) if part)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text} (request id {self.request_id})" if self.request_id else text


class TransportError(ModelError):
    """No answer came: name lookup, connecting, TLS, or a connection that was reset."""

    retryable_by_default = True


class ModelTimeout(TransportError):
    """A timeout fired. `timeout` names it (connect, write, pool, first_byte, idle, first_content, content_idle,
    attempt, total) and `seconds` is how long it had waited."""

    def __init__(self, message: str, *, timeout: str = "total", seconds: float | None = None, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.timeout = timeout
        self.seconds = seconds


class StatusError(ModelError):
    """The server refused: an HTTP status of 400 or more, or an error object inside a 200.

    `status` is the HTTP status, or the one the error body names when that came inside a 200. `code` and `type` are the
    vendor's words, `body` the start of the raw body, `headers` the response headers that matter (rate limits, ids).
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        type: str | None = None,
        body: str = "",
        headers: Mapping[str, str] | None = None,
        retry_after: float | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(message, **fields)
        self.status = status
        self.code = code
        self.type = type
        self.body = body
        self.headers: dict[str, str] = dict(headers or {})
        self.retry_after = retry_after


class AuthError(StatusError):
    """401 or 403: the key is wrong, missing, or not allowed to do this."""


class RequestRejected(StatusError):
    """400, 404, 413, 422: the request itself is wrong; sending it again will not help."""


class ContextOverflow(RequestRejected):
    """The prompt is longer than the model's context. `limit` and `prompt_tokens`: what the server named, if it did."""

    def __init__(
        self, message: str, *, limit: int | None = None, prompt_tokens: int | None = None, **fields: Any
    ) -> None:
        super().__init__(message, **fields)
        self.limit = limit
        self.prompt_tokens = prompt_tokens


class QuotaExceeded(StatusError):
    """The account's money or quota is used up; waiting does not mend it."""


class RateLimited(StatusError):
    """429: too many requests. `retry_after` is the wait in seconds that the server asked for, if it did."""

    retryable_by_default = True


class ServerError(StatusError):
    """The server failed: 408, 409, 5xx, 529, or a reply that ended in an error."""

    retryable_by_default = True


class ProtocolError(ModelError):
    """The server answered 2xx, but not with what the wire promises. `body` is a short excerpt."""

    def __init__(self, message: str, *, body: str = "", **fields: Any) -> None:
        super().__init__(message, **fields)
        self.body = body


class StreamInterrupted(ProtocolError):
    """The stream ended, or broke, before the reply was finished. `partial` holds what had arrived."""

    retryable_by_default = True


class ToolError(AgentLoopError):
    """Raise this in a tool to tell the model what went wrong; the run goes on.

    As the error of a run that ended in `tool_error`, `kind` is the kind of the failed result.
    """

    def __init__(self, *args: object, kind: str | None = None) -> None:
        super().__init__(*args)
        self.kind = kind


class HistoryError(AgentLoopError):
    """A list of messages is not a history: a call without its result, a result without its call, an unknown role."""


class RunError(AgentLoopError):
    """A run did not answer. `result` is its RunResult; `result.error` is the cause, when there was one."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class SessionError(AgentLoopError):
    """A session cannot do that now, or its store is missing, locked or damaged."""
