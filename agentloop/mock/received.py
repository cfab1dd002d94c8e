"""What a client sent, as the mock provider keeps it: without keys."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from agentloop.http.secrets import redact_headers, redact_text, redact_url

__all__ = ["ReceivedRequest"]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as it arrived. `path` has its query; header names are in lower case; `connection` numbers the
    connections of the server from 1, so that requests on one connection can be told.

    Keys are masked in path, headers and body before they get here.
    """

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    connection: int = 0

    @property
    def json(self) -> Any:
        """The body read as JSON, or None when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @staticmethod
    def without_keys(
        method: str, target: str, headers: dict[str, str], body: bytes, connection: int
    ) -> ReceivedRequest:
        secrets = _secrets(headers)
        clean = redact_headers(headers, secrets)
        text = redact_text(body.decode("utf-8", "surrogateescape"), secrets)
        kept = text.encode("utf-8", "surrogateescape")
        return ReceivedRequest(method, redact_url(target, secrets), dict(clean), kept, connection)


def _secrets(headers: dict[str, str]) -> list[str]:
    """The keys that the request itself carries: they are taken out wherever else they occur in it."""
    values = [headers.get(name, "") for name in ("authorization", "api-key", "x-api-key", "proxy-authorization")]
    return [key for value in values if (key := re.sub(r"(?i)^(bearer|basic)\s+", "", value).strip())]
