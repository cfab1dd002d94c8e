"""What the mock must know of a wire: where it is asked, what it refuses, how it reads a request and writes a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentloop.mock.conversation import Question, Reply

__all__ = ["Dialect", "Rendering"]


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a reply is written with, besides itself: the request's body, and the reply's id and model."""

    request: Mapping[str, Any]
    reply_id: str
    model: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire. `check` gives the body of a 400 or None; `read` is called for a body that has passed it, and raises
    Refused for what the original takes and the mock cannot do.

    `check_both` is as `check`, for what body and headers do not allow together.

    `whole` gives the JSON of a reply, `streamed` the bytes of each of its events. `check_headers` is as `check`, for
    the headers by their names in lower case.

    `refusal` gets an error in OpenAI's shape, the status and the request's id, and gives the error in the wire's shape;
    `id_header` is the header with that id. A dialect with `count` counts the request's tokens and asks for no reply.
    """

    path: str
    check: Callable[[Any], dict[str, Any] | None]
    read: Callable[[Mapping[str, Any]], Question]
    whole: Callable[[Reply, Rendering], dict[str, Any]]
    streamed: Callable[[Reply, Rendering], list[bytes]]
    check_headers: Callable[[Mapping[str, str]], dict[str, Any] | None] = lambda headers: None
    check_both: Callable[[Mapping[str, Any], Mapping[str, str]], dict[str, Any] | None] = lambda body, headers: None
    refusal: Callable[[Mapping[str, Any], int, str], Mapping[str, Any]] = lambda body, status, request_id: body
    id_header: str = "x-request-id"
    count: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
