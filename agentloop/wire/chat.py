"""The Chat Completions wire: what OpenAI began and most servers speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, cast

from agentloop.messages import AssistantMessage
from agentloop.model import ModelRequest, ModelResponse, Usage
from agentloop.shapes import as_dict, as_list, as_text
from agentloop.wire.chat_decode import ReplyReader
from agentloop.wire.chat_encode import RequestEncoder
from agentloop.wire.chat_stream import ChatAssembler
from agentloop.wire.codec import loads
from agentloop.wire.dialect import Assembler, Encoded
from agentloop.wire.names import Names, tool_name
from agentloop.wire.quirks import Quirks

__all__ = ["ChatWire"]


class ChatWire:
    """`POST {base}/chat/completions` for one model of one provider; see `Wire` for the contract."""

    name: Literal["chat"] = "chat"
    path: str = "/chat/completions"
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self._encoder = RequestEncoder(model, provider, quirks)
        self._reader = ReplyReader(model, provider, quirks)

    def encode(self, request: ModelRequest) -> Encoded:
        return self._encoder.encode(request)

    def decode(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return Names.of(request.tools).read(self._reader.decode(body, history=request.messages))

    def assembler(self, request: ModelRequest) -> Assembler:
        names = Names.of(request.tools)
        offered = tuple(names.to_wire(tool_name(tool)) for tool in request.tools)
        return names.follow(ChatAssembler(self._reader, history=request.messages, tools=offered))

    def filtered(self, body: bytes) -> ModelResponse | None:
        """Azure answers a blocked prompt with code `content_filter`, some gateways with a completion."""
        try:
            value = loads(body)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        reply = cast("dict[str, Any]", value)
        error = as_dict(reply.get("error"))
        if as_list(reply.get("choices")) and not error:
            response = self._reader.read(reply, history=())
            return response if response.finish_reason == "content_filter" or response.refusal else None
        if "content_filter" not in (error.get("code"), error.get("type")):
            return None
        return ModelResponse(
            message=AssistantMessage(None),
            finish_reason="content_filter",
            raw_finish_reason="content_filter",
            usage=Usage(requests=1, complete=False),
            provider=self._reader.provider,
            raw=reply,
            notes=(as_text(error.get("message")) or "the provider's content filter refused the prompt",),
        )
