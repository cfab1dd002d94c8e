"""The Chat Completions wire: what OpenAI began and most servers speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from agentloop.model import ModelRequest, ModelResponse
from agentloop.shapes import as_dict, as_list
from agentloop.wire.chat_decode import ReplyReader
from agentloop.wire.chat_encode import RequestEncoder
from agentloop.wire.chat_stream import ChunkJoiner
from agentloop.wire.codec import loads
from agentloop.wire.dialect import Assembler, Encoded
from agentloop.wire.event_stream import EventAssembler
from agentloop.wire.names import Names, tool_name
from agentloop.wire.origin import Origin
from agentloop.wire.quirks import Quirks

__all__ = ["ChatWire"]


class ChatWire:
    """`POST {base}/chat/completions` for one model of one provider; see `Wire` for the contract."""

    name: Literal["chat"] = "chat"
    path: str = "/chat/completions"
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self._origin = Origin(provider, model)
        self._encoder = RequestEncoder(model, provider, quirks)
        self._reader = ReplyReader(self._origin, quirks)

    def encode(self, request: ModelRequest) -> Encoded:
        return self._encoder.encode(request)

    def decode(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return Names.of(request.tools).read(self._read(body, request))

    def assembler(self, request: ModelRequest) -> Assembler:
        names = Names.of(request.tools)
        offered = tuple(names.to_wire(tool_name(tool)) for tool in request.tools)
        joiner = ChunkJoiner(self._reader, history=request.messages, tools=offered)
        return names.follow(EventAssembler(joiner, self._origin, lambda body: self._read(body, request)))

    def _read(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return self._reader.read(self._origin.object_of(body), history=request.messages)

    def filtered(self, body: bytes) -> ModelResponse | None:
        """Azure answers a blocked prompt with code `content_filter`, some gateways with a completion."""
        try:
            reply = as_dict(loads(body))
        except ValueError:
            return None
        error = as_dict(reply.get("error"))
        if as_list(reply.get("choices")) and not error:
            response = self._reader.read(reply, history=())
            return response if response.finish_reason == "content_filter" or response.refusal else None
        return self._origin.blocked(reply) if "content_filter" in (error.get("code"), error.get("type")) else None
