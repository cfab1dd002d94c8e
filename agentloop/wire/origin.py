"""Whose replies are read: it names the server in errors, and reads what all wires have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentloop.errors import ProtocolError, StatusError, StreamInterrupted
from agentloop.messages import AssistantMessage
from agentloop.model import FinishReason, ModelResponse, Usage
from agentloop.repairs import Repair
from agentloop.shapes import as_dict, as_text
from agentloop.wire.codec import as_json, loads
from agentloop.wire.errors import status_error

__all__ = ["Origin", "excerpt"]

_FILTERED_WORDING = r"content (?:management|filtering) policy"  # Azure; Anthropic


def excerpt(data: bytes) -> str:
    """The start of a body, on one line, for an error."""
    return " ".join(data[:300].decode("utf-8", "replace").split())[:200]


@dataclass(frozen=True, slots=True)
class Origin:
    """One model of one provider."""

    provider: str
    model: str

    def object_of(self, data: bytes) -> dict[str, Any]:
        """The JSON object of a whole body. Raises ProtocolError for anything else."""
        if not data.strip():
            raise self.protocol_error("the response body is empty; the server gave up or is overloaded", retryable=True)
        try:
            body = loads(data)
        except ValueError:
            raise self.protocol_error("the response is not JSON", body=excerpt(data)) from None
        if not isinstance(body, dict):
            raise self.protocol_error("the response is JSON, but no object", body=excerpt(data))
        return cast("dict[str, Any]", body)

    def protocol_error(self, message: str, *, body: str = "", retryable: bool | None = None) -> ProtocolError:
        where = f"{message}: {body}" if body else message
        return ProtocolError(where, body=body, provider=self.provider, model=self.model, retryable=retryable)

    def interrupted(self, where: str) -> StreamInterrupted:
        return StreamInterrupted(
            f"the stream ended {where}: the reply is not complete", provider=self.provider, model=self.model
        )

    def status_error(self, body: Any, *, partial: ModelResponse | None = None) -> StatusError:
        """The error for an error object inside a 200."""
        try:
            error = status_error(body, status=200, provider=self.provider, model=self.model)
        except RecursionError:
            raise self.protocol_error("the server sent an error that is nested too deeply") from None
        error.partial = partial
        return error

    def no_reply(self, body: dict[str, Any], missing: str) -> StatusError | ProtocolError:
        """The error for a body without what makes it a reply: some gateways have a form of their own for errors."""
        if as_text(body.get("message")) or body.get("detail"):
            return self.status_error(body)
        shown = excerpt(as_json(body).encode("utf-8", "replace"))
        return self.protocol_error(f"the response has no {missing}", body=shown, retryable=True)

    def response(
        self,
        body: dict[str, Any],
        message: AssistantMessage,
        usage: Usage,
        notes: Sequence[str],
        repairs: Sequence[Repair] = (),
        *,
        finish: FinishReason | None = None,
        word: str | None = None,
    ) -> ModelResponse:
        """What a wire has read in `body`, with what every wire has at the same place. Each note is kept once."""
        return ModelResponse(
            message=message,
            finish_reason=finish,
            raw_finish_reason=word,
            usage=usage,
            id=as_text(body.get("id")),
            model=as_text(body.get("model")),
            provider=self.provider,
            raw=body,
            notes=tuple(dict.fromkeys(notes)),
            repairs=tuple(repairs),
        )

    def filtered(self, body: bytes) -> ModelResponse | None:
        """The reply that an HTTP 400 stands for, when its error is the verdict of a content filter."""
        try:
            value = as_dict(loads(body))
        except ValueError:
            return None
        error = as_dict(value.get("error"))
        message = as_text(error.get("message")) or ""
        named = "content_filter" in (error.get("code"), error.get("type"))
        return self.blocked(value) if named or re.search(_FILTERED_WORDING, message, re.IGNORECASE) else None

    def blocked(self, body: dict[str, Any]) -> ModelResponse:
        """The reply to a prompt that a content filter refused with the error in `body`."""
        message = as_text(as_dict(body.get("error")).get("message"))
        return ModelResponse(
            message=AssistantMessage(None),
            finish_reason="content_filter",
            raw_finish_reason="content_filter",
            usage=Usage(requests=1, complete=False),
            provider=self.provider,
            raw=body,
            notes=(message or "the provider's content filter refused the prompt",),
        )
