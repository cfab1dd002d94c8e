"""The Anthropic Messages wire, and the counting of tokens on it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from agentloop.messages import AssistantMessage
from agentloop.model import ModelRequest, ModelResponse, Usage
from agentloop.shapes import as_int
from agentloop.wire.anthropic_decode import MessageReader
from agentloop.wire.anthropic_encode import RequestEncoder
from agentloop.wire.anthropic_stream import MessageJoiner
from agentloop.wire.dialect import Assembler, Encoded
from agentloop.wire.event_stream import EventAssembler
from agentloop.wire.names import Names
from agentloop.wire.origin import Origin
from agentloop.wire.quirks import Quirks

__all__ = ["AnthropicTokensWire", "AnthropicWire"]


class AnthropicWire:
    """`POST {base}/v1/messages` for one model of one provider; see `Wire` for the contract."""

    name: Literal["anthropic"] = "anthropic"
    path: str = "/v1/messages"

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self.headers: Mapping[str, str] = MappingProxyType({"anthropic-version": quirks.anthropic_version})
        self._origin = Origin(provider, model)
        self._encoder = RequestEncoder(model, provider, quirks)
        self._reader = MessageReader(self._origin)

    def encode(self, request: ModelRequest) -> Encoded:
        return self._encoder.encode(request)

    def decode(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return Names.of(request.tools).read(self._read(body, request))

    def assembler(self, request: ModelRequest) -> Assembler:
        joiner = MessageJoiner(self._reader, request.messages)
        assembler = EventAssembler(joiner, self._origin, lambda body: self._read(body, request))
        return Names.of(request.tools).follow(assembler)

    def _read(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return self._reader.read(self._origin.object_of(body), history=request.messages)

    def filtered(self, body: bytes) -> ModelResponse | None:
        return self._origin.filtered(body)


class AnthropicTokensWire:
    """`POST {base}/v1/messages/count_tokens`: the reply says nothing, and its usage has the input tokens that the same
    request would cost. It is a wire so that counting has the client's retries, deadlines and errors."""

    name: Literal["anthropic-tokens"] = "anthropic-tokens"
    path: str = "/v1/messages/count_tokens"

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self.headers: Mapping[str, str] = MappingProxyType({"anthropic-version": quirks.anthropic_version})
        self._origin = Origin(provider, model)
        self._encoder = RequestEncoder(model, provider, quirks, counting=True)

    def encode(self, request: ModelRequest) -> Encoded:
        return self._encoder.encode(request)

    def decode(self, body: bytes, request: ModelRequest) -> ModelResponse:
        value = self._origin.object_of(body)
        if value.get("error"):
            raise self._origin.status_error(value)
        tokens = as_int(value.get("input_tokens"))
        if tokens is None:
            raise self._origin.protocol_error("the response does not say `input_tokens`")
        return ModelResponse(
            message=AssistantMessage(None),
            usage=Usage(input_tokens=tokens, requests=1),
            provider=self._origin.provider,
            raw=value,
        )

    def assembler(self, request: ModelRequest) -> Assembler:
        raise self._origin.protocol_error("a count of tokens came as a stream")

    def filtered(self, body: bytes) -> ModelResponse | None:
        return None
