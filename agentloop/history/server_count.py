"""Exact counts from the provider itself: Anthropic's count_tokens, and the servers that copy it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from agentloop.errors import ProtocolError
from agentloop.messages import Message, messages_from
from agentloop.model import Model, ModelRequest, ResponseDone, ToolSpec

__all__ = ["ServerCounter"]

_KEPT = 256  # counts


class ServerCounter:
    """A TokenCounter that asks a server. `model` is a client on the counting wire:

        ServerCounter(Client.from_env("anthropic", wire="anthropic-tokens"))

    Each list that was not counted before is a request; it costs no tokens, but time, and rate limits count. For a run
    that trims often the default counter, which learns from the usage of the replies, is close and needs no request.
    Raises ModelError when the server does not answer, and when `model` is a client that answers instead of counting.
    Safe for threads.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lock = threading.Lock()
        # By identity; the counted list is kept too, so that its ids stay its own.
        self._known: dict[tuple[int, ...], tuple[Sequence[object], int]] = {}

    def count(
        self, messages: Sequence[Message | Mapping[str, Any]], tools: Sequence[ToolSpec | Mapping[str, Any]] = ()
    ) -> int:
        asked = messages_from(messages)
        counted: tuple[object, ...] = (*asked, None, *tools)
        key = tuple(map(id, counted))
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known[1]
        tokens = self._ask(ModelRequest(asked, tuple(tools), options={"max_tokens": 1}))
        with self._lock:
            self._known[key] = (counted, tokens)
            if len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
        return tokens

    def _ask(self, request: ModelRequest) -> int:
        with closing(self._model.events(request)) as events:
            for event in events:
                if not isinstance(event, ResponseDone):
                    continue
                if event.response.finish_reason is not None:  # it has answered, which costs tokens
                    break
                if (tokens := event.response.usage.input_tokens) is not None:
                    return tokens
        raise ProtocolError(
            "the server did not count: give a client with wire='anthropic-tokens'",
            provider=self._model.provider,
            model=self._model.model,
        )
