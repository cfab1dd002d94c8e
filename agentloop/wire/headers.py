"""What response headers say: request ids, rate limits, and how long to wait before the next try."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC

__all__ = ["kept_headers", "read_retry_after", "request_id"]

_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-deepseek-request-id",
    "apim-request-id",
    "x-generation-id",
    "x-litellm-call-id",
)
_KEPT = frozenset(
    {*_ID_HEADERS, "retry-after", "retry-after-ms", "x-should-retry", "openai-processing-ms", "x-litellm-model-id"}
)
_KEPT_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-", "anthropic-priority-")


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers worth keeping on a response or an error, in lower case: ids, limits, times; never an account."""
    lowered = ((name.lower(), value) for name, value in headers.items())
    return {name: value for name, value in lowered if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


def request_id(kept: Mapping[str, str]) -> str | None:
    """The server's own id of the exchange, from headers as `kept_headers` gives them."""
    return next((kept[name] for name in _ID_HEADERS if kept.get(name)), None)


def read_retry_after(kept: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait, from headers as `kept_headers` gives them; `now` is Unix time.

    `retry-after-ms` wins over `retry-after`, which holds seconds (fractions allowed) or an HTTP date. A date in the
    past is 0. Negative numbers, nan and text that is neither say nothing: None. The result may be infinite.
    """
    milliseconds = _number(kept.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = kept.get("retry-after")
    seconds = _number(value)
    return _until(value, now) if seconds is None and value else seconds


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(value) or value < 0 else value


def _until(text: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now)
