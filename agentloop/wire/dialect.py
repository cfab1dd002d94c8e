"""What a wire is: a dialect of JSON over HTTP, as the client uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentloop.model import ModelEvent, ModelRequest, ModelResponse
from agentloop.repairs import Repair

__all__ = ["Assembler", "Encoded", "Wire"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request's body. `repairs` were made to its history; `notes` say what this provider cannot take and was left
    out, each once: when the message it concerns is encoded for the first time."""

    body: bytes
    repairs: tuple[Repair, ...] = ()
    notes: tuple[str, ...] = ()


class Assembler(Protocol):
    """One streamed reply, from the bytes of its body to events. Not to be shared between threads."""

    @property
    def finished(self) -> bool:
        """The terminal event was seen, and ResponseDone was returned."""
        ...

    @property
    def content_seen(self) -> bool:
        """A delta was returned, so that a caller may have seen a part of the reply."""
        ...

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        """The events of the next bytes, however they are split; after the terminal event none.

        Raises StatusError for an error inside the stream, and ProtocolError for what is not the wire's form; both
        carry what had arrived as `partial`.
        """
        ...

    def end(self) -> Sequence[ModelEvent]:
        """The body ended without an error: ResponseDone, unless it was returned before. Raises StreamInterrupted when
        the reply was not finished. Not to be called when the connection broke."""
        ...

    def partial(self) -> ModelResponse | None:
        """What has arrived, or None if nothing has. Its tool calls may be cut, so they are only in `raw`."""
        ...


class Wire(Protocol):
    """A dialect bound to a model and a provider. One per client, used from many threads."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str:
        """What comes after the base URL."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that belong to the dialect, such as its version."""
        ...

    def encode(self, request: ModelRequest) -> Encoded:
        """The request's body. Raises ConfigError for what the dialect cannot say."""
        ...

    def decode(self, body: bytes, request: ModelRequest) -> ModelResponse:
        """A whole reply. Raises StatusError for an error inside a 200, and ProtocolError for anything else that is not
        a reply; `request_id`, `headers` and `attempts` of the response are left to the client."""
        ...

    def filtered(self, body: bytes) -> ModelResponse | None:
        """The reply that an HTTP 400 stands for when it is a verdict of the provider's content filter, else None."""
        ...

    def assembler(self, request: ModelRequest) -> Assembler: ...
