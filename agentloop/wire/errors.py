"""From a server's error body to a typed error.

Read are: OpenAI's `{"error": {...}}`, the same with a string, a bare `{"message": ...}`, FastAPI's `{"detail": ...}`,
Gemini's list of one, Anthropic's and the Responses API's events, HTML, plain text, and nothing at all.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentloop.errors import (
    AuthError,
    ContextOverflow,
    QuotaExceeded,
    RateLimited,
    RequestRejected,
    ServerError,
    StatusError,
)
from agentloop.shapes import as_dict, as_int, as_list, as_text
from agentloop.wire.headers import kept_headers, read_retry_after, request_id
from agentloop.wire.overflow import find_overflow

__all__ = ["RETRIED_STATUSES", "status_error"]

BODY_KEPT = 4000  # characters of the raw body that an error keeps
MESSAGE_KEPT = 1000

RETRIED_STATUSES = frozenset({408, 409, 429})  # and every status from 500 on

_STATUS_OF_WORD = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "context_length_exceeded": 400,
    "tool_use_failed": 400,
    "authentication_error": 401,
    "auth_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "timeout": 408,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "throttling_error": 429,
    "too_many_requests": 429,
    "insufficient_quota": 429,
    "quota_exceeded": 429,
    "api_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "server_error": 500,
    "bad_gateway": 502,
    "engine_overloaded": 503,
    "insufficient_system_resource": 503,
    "server_overloaded": 503,
    "service_unavailable": 503,
    "slow_down": 503,
    "unavailable": 503,
    "unavailable_error": 503,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_QUOTA_CODES = frozenset(
    {
        "billing_error",
        "billing_hard_limit_reached",
        "insufficient_balance",
        "insufficient_quota",
        "quota_exceeded",
    }
)
_QUOTA_WORDING = (
    r"exceeded your current quota|insufficient (?:account )?balance|credit balance is too low|out of credits"
)
_HINTS = {
    401: "check the API key, and that it belongs to this base URL",
    403: "this key, account or region may not use the model",
    404: "check the base URL (most end in /v1) and the name of the model",
    413: "the request is too large: send fewer or smaller messages",
}


@dataclass(frozen=True, slots=True)
class _Told:
    """What the body says, whatever its shape."""

    message: str
    code: str | None
    type: str | None
    number: int | None  # an HTTP status that the body names in digits
    text: str
    request_id: str | None = None
    context: tuple[int | None, int | None] = (None, None)  # llama.cpp: the size of the context, and of the prompt


def status_error(
    body: Any,
    *,
    status: int,
    headers: Mapping[str, str] | None = None,
    provider: str | None = None,
    model: str | None = None,
    now: float | None = None,
) -> StatusError:
    """The typed error for an error body, given as bytes, text or decoded JSON.

    `status` is the HTTP status; for an error inside a 200 the class comes from the error's own code or type, and an
    error that names neither counts as the server's failure. `now` (Unix time) is what an HTTP date in Retry-After is
    compared with. `retryable` is decided by `x-should-retry`, then the body's code, then the status.
    """
    told = _read(body)
    kept = kept_headers(headers or {})
    wait = read_retry_after(kept, time.time() if now is None else now)
    status = status if status >= 400 else told.number or _status_of(told.code) or _status_of(told.type) or status
    fields: dict[str, Any] = {
        "status": status,
        "code": told.code,
        "type": told.type,
        "body": told.text[:BODY_KEPT],
        "headers": kept,
        "retry_after": wait,
        "provider": provider,
        "model": model,
        "request_id": request_id(kept) or told.request_id,
    }
    overflow = find_overflow(told.message, told.code, told.type) if status not in (401, 402, 403, 429) else None
    if overflow is not None:
        limit, prompt_tokens = told.context
        fields["limit"] = limit if overflow.limit is None else overflow.limit
        fields["prompt_tokens"] = prompt_tokens if overflow.prompt_tokens is None else overflow.prompt_tokens
    kind = ContextOverflow if overflow is not None else _class_of(told, status, wait)
    fields["retryable"] = _retryable(kind, told, kept)
    return kind(_sentence(kind, told, status, wait), **fields)


def _class_of(told: _Told, status: int, wait: float | None) -> type[StatusError]:
    if status == 402 or told.code in _QUOTA_CODES or told.type in _QUOTA_CODES:
        return QuotaExceeded
    # Some servers use the words of an empty account for a limit per minute, and then say how long to wait.
    if status in (400, 403, 429) and wait is None and re.search(_QUOTA_WORDING, told.message, re.IGNORECASE):
        return QuotaExceeded
    if status in (401, 403):
        return AuthError
    if status == 429:
        return RateLimited
    return RequestRejected if 400 <= status < 500 and status not in RETRIED_STATUSES else ServerError


def _retryable(kind: type[StatusError], told: _Told, headers: Mapping[str, str]) -> bool:
    wish = headers.get("x-should-retry", "").lower()
    if wish in ("true", "false"):
        return wish == "true"
    meant = told.number or _status_of(told.code)
    if meant is None or issubclass(kind, QuotaExceeded | ContextOverflow):
        return kind.retryable_by_default
    return meant in RETRIED_STATUSES or meant >= 500


def _status_of(word: str | None) -> int | None:
    if word is None:
        return None
    word = word.lower()
    if word in _STATUS_OF_WORD:
        return _STATUS_OF_WORD[word]
    return 400 if word.startswith(("invalid_", "unsupported_", "image_", "empty_")) else None


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(body: Any) -> _Told:
    value, text = _decoded(body)
    if isinstance(value, list):
        value = next(iter(as_list(value)), None)
    outer = as_dict(value)
    inner = outer.get("error") or outer
    fields = as_dict(inner)
    message = as_text(inner) or _message(fields) or _message(outer) or _excerpt(text)
    code = fields.get("code") if "code" in fields else outer.get("code")
    code = code or as_text(as_dict(fields.get("details")).get("error_code"))  # Anthropic
    number = as_int(code) if not isinstance(code, str) else (int(code) if code.isdecimal() else None)
    kind = as_text(fields.get("type")) or as_text(fields.get("status"))
    return _Told(
        message=(message + _details(fields))[:MESSAGE_KEPT],
        code=None if code is None else str(code),
        type=None if kind == "error" else kind,
        number=number if number is not None and 400 <= number < 600 else None,
        text=text,
        request_id=as_text(outer.get("request_id")),
        context=(as_int(fields.get("n_ctx")), as_int(fields.get("n_prompt_tokens"))),
    )


def _decoded(body: Any) -> tuple[Any, str]:
    """The JSON value, or None where it is none, and the text it came as."""
    if isinstance(body, (bytes, bytearray)):
        body = bytes(body).decode("utf-8", "replace")
    if not isinstance(body, str):
        return body, json.dumps(body, ensure_ascii=False, default=str)
    try:
        return json.loads(body), body
    except (ValueError, RecursionError):
        return None, body


def _message(fields: dict[str, Any]) -> str | None:
    detail = fields.get("detail")
    if isinstance(detail, list):
        return "; ".join(_complaint(as_dict(item)) for item in as_list(detail)) or None
    nested = as_dict(fields.get("message")) or as_dict(detail)
    return as_text(fields.get("message")) or as_text(detail) or (_message(nested) if nested else None)


def _complaint(item: dict[str, Any]) -> str:
    """One line of FastAPI's validation errors."""
    where = ".".join(str(step) for step in as_list(item.get("loc")))
    return f"{where}: {item.get('msg', '')}" if where else str(item.get("msg", item))


def _details(fields: dict[str, Any]) -> str:
    """What lies beside the message and explains it: the upstream's own words, the call a model failed to write."""
    upstream = as_text(as_dict(fields.get("metadata")).get("raw"))
    failed = as_text(fields.get("failed_generation"))
    return (f" [upstream: {upstream}]" if upstream else "") + (f" [failed_generation: {failed}]" if failed else "")


def _excerpt(text: str) -> str:
    """The beginning of a body that is no JSON; of an HTML page its words."""
    if "<" in text[:200] and re.search(r"<(?:!doctype|html|head|body|title)", text[:2000], re.IGNORECASE):
        text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text[:20000], flags=re.DOTALL | re.IGNORECASE)
    words = " ".join(text.split())
    return words[:200] if words else "the server sent no message"


# --- saying ----------------------------------------------------------------------------------------------------------


def _sentence(kind: type[StatusError], told: _Told, status: int, wait: float | None) -> str:
    named = f" {told.code}" if told.code and told.code != str(status) else ""
    hint = _hint(kind, status, wait)
    return f"{status}{named}: {told.message}" + (f" ({hint})" if hint else "")


def _hint(kind: type[StatusError], status: int, wait: float | None) -> str:
    if kind is ContextOverflow:
        return "shorten the history, or use a model with a larger context"
    if kind is QuotaExceeded:
        return "the account has no quota or credit left; waiting does not mend it"
    if kind is RateLimited:
        return f"the server asks to wait {wait:g} s" if wait else "send fewer requests at a time"
    if kind is RequestRejected and status not in _HINTS:
        return "the request itself is refused; Client.build_request shows what is sent"
    return _HINTS.get(status, "")
