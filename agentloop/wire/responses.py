"""The Responses wire, without state on the server: the whole trajectory is sent each time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from agentloop.model import ModelRequest, ModelResponse
from agentloop.wire.dialect import Assembler, Encoded
from agentloop.wire.event_stream import EventAssembler
from agentloop.wire.names import Names
from agentloop.wire.origin import Origin
from agentloop.wire.quirks import Quirks
from agentloop.wire.responses_decode import ResponseReader
from agentloop.wire.responses_encode import RequestEncoder
from agentloop.wire.responses_stream import ItemJoiner

__all__ = ["ResponsesWire"]


class ResponsesWire:
    """`POST {base}/responses` for one model of one provider; see `Wire` for the contract."""

    name: Literal["responses"] = "responses"
    path: str = "/responses"
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self._origin = Origin(provider, model)
        self._encoder = RequestEncoder(model, provider, quirks)
        self._reader = ResponseReader(self._origin, quirks.tells_cuts)

    def encode(self, request: ModelRequest) -> Encoded:
        return self._encoder.encode(request)

    def decode(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return Names.of(request.tools).read(self._read(body, request))

    def assembler(self, request: ModelRequest) -> Assembler:
        joiner = ItemJoiner(self._reader, request)
        assembler = EventAssembler(joiner, self._origin, lambda body: self._read(body, request))
        return Names.of(request.tools).follow(assembler)

    def _read(self, body: bytes, request: ModelRequest) -> ModelResponse:
        return self._reader.read(self._origin.object_of(body), request)

    def filtered(self, body: bytes) -> ModelResponse | None:
        return self._origin.filtered(body)
