"""A stand-in for a provider on this machine: real HTTP, strict checks, rules in place of a model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.mock.checks import check_chat_request
    from agentloop.mock.conversation import Call, Question, Reply, Turn
    from agentloop.mock.provider import MockProvider, mock_handler, serve
    from agentloop.mock.received import ReceivedRequest

__all__ = [
    "Call",
    "MockProvider",
    "Question",
    "ReceivedRequest",
    "Reply",
    "Turn",
    "check_chat_request",
    "mock_handler",
    "serve",
]

_HOMES = {
    "Call": "conversation",
    "MockProvider": "provider",
    "Question": "conversation",
    "ReceivedRequest": "received",
    "Reply": "conversation",
    "Turn": "conversation",
    "check_chat_request": "checks",
    "mock_handler": "provider",
    "serve": "provider",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
