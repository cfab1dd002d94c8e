"""httpx's exceptions and our deadlines in words: what happened, and what to change."""

from __future__ import annotations

import httpx

from agentloop.errors import ModelError, ModelTimeout, StreamInterrupted, TransportError
from agentloop.http.deadlines import Watch
from agentloop.model import ModelResponse

__all__ = ["BROKEN", "UNSENT", "cancelled", "timed_out", "transport_failure"]

UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
BROKEN = (httpx.NetworkError, httpx.RemoteProtocolError)

_TIMEOUTS = {
    "connect": "connecting took more than {}",
    "write": "the server took nothing of the request for {}",
    "pool": "all connections were in use for {}; max_connections may be raised too",
    "first_byte": "no byte of a response came within {}",
    "idle": "the server was silent for {} in the middle of its response",
    "first_content": "the stream brought no content within {}",
    "content_idle": "the stream brought no further content for {}",
    "attempt": "the attempt took more than {}",
    "total": "the call with its retries took more than {}",
}
_TIMEOUT_OF: dict[type[httpx.HTTPError], str] = {
    httpx.ConnectTimeout: "connect",
    httpx.WriteTimeout: "write",
    httpx.PoolTimeout: "pool",
}


def timed_out(name: str, seconds: float, partial: ModelResponse | None = None) -> ModelTimeout:
    setting = "Timeouts(total=) or the seconds asked for" if name == "total" else f"Timeouts({name}=)"
    return ModelTimeout(
        f"{_TIMEOUTS[name].format(f'{seconds:g} s')} ({name} timeout; raise {setting} to wait longer)",
        timeout=name,
        seconds=seconds,
        partial=partial,
        retryable=name != "total",
    )


def cancelled(partial: ModelResponse | None = None) -> TransportError:
    return TransportError("cancelled", partial=partial, retryable=False)


def transport_failure(
    error: httpx.HTTPError, *, watch: Watch, base_url: str, streaming: bool, partial: ModelResponse | None
) -> ModelError:
    """Our error for one that a transport raised. `streaming` means that a stream had begun."""
    if isinstance(error, httpx.TimeoutException):
        usual = _TIMEOUT_OF.get(type(error)) or ("idle" if watch.answered else "first_byte")
        name = watch.armed if watch.governed else watch.late(usual)
        return timed_out(name, watch.seconds_of(name), partial)
    text = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        untrusted = "certificate verify failed" in text
        hint = "set SSL_CERT_FILE to its authority" if untrusted else "is the server running, the base URL right?"
        return TransportError(f"cannot connect to {base_url}: {text} ({hint})", retryable=not untrusted)
    if isinstance(error, httpx.ProxyError):
        return TransportError(f"the proxy refused: {text} (check HTTPS_PROXY; trust_env=False goes without a proxy)")
    if isinstance(error, httpx.DecodingError):
        return TransportError(f"the response's content encoding is broken: {text}", retryable=False)
    if isinstance(error, (httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
        return TransportError(f"the request cannot be sent: {text}", retryable=False)
    if streaming:
        return StreamInterrupted(f"the connection broke within the stream: {text}", partial=partial)
    where = "within the response" if watch.answered else "before a byte of response"
    return TransportError(f"the connection broke {where}: {text}")
