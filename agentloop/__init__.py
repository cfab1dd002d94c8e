"""An SDK-free agent runtime over raw HTTP. The names below are loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop._version import __version__
    from agentloop.agent import Agent, AsyncAgent
    from agentloop.errors import AgentLoopError, ToolError
    from agentloop.http.async_client import AsyncClient
    from agentloop.http.client import Client
    from agentloop.http.fallback import AsyncFallback, Fallback
    from agentloop.http.retry import RetryPolicy
    from agentloop.http.timeouts import Timeouts
    from agentloop.loop.limits import Limits
    from agentloop.loop.result import RunResult
    from agentloop.loop.run import Run
    from agentloop.messages import (
        AssistantMessage,
        SystemMessage,
        ToolMessage,
        ToolResult,
        UserMessage,
    )
    from agentloop.model import ModelRequest, ModelResponse, Usage
    from agentloop.parts import FilePart, ImagePart, TextPart, ToolCall
    from agentloop.session import Session
    from agentloop.tools.context import ToolContext
    from agentloop.tools.policy import allow, deny, edit
    from agentloop.tools.tool import Tool, tool
    from agentloop.wire.convert import convert
    from agentloop.wire.quirks import Quirks

_WHERE = {
    "Agent": "agent",
    "AgentLoopError": "errors",
    "AssistantMessage": "messages",
    "AsyncAgent": "agent",
    "AsyncClient": "http.async_client",
    "AsyncFallback": "http.fallback",
    "Client": "http.client",
    "Fallback": "http.fallback",
    "FilePart": "parts",
    "ImagePart": "parts",
    "Limits": "loop.limits",
    "ModelRequest": "model",
    "ModelResponse": "model",
    "Quirks": "wire.quirks",
    "RetryPolicy": "http.retry",
    "Run": "loop.run",
    "RunResult": "loop.result",
    "Session": "session",
    "SystemMessage": "messages",
    "TextPart": "parts",
    "Timeouts": "http.timeouts",
    "Tool": "tools.tool",
    "ToolCall": "parts",
    "ToolContext": "tools.context",
    "ToolError": "errors",
    "ToolMessage": "messages",
    "ToolResult": "messages",
    "Usage": "model",
    "UserMessage": "messages",
    "__version__": "_version",
    "allow": "tools.policy",
    "convert": "wire.convert",
    "deny": "tools.policy",
    "edit": "tools.policy",
    "tool": "tools.tool",
}

__all__ = [
    "Agent",
    "AgentLoopError",
    "AssistantMessage",
    "AsyncAgent",
    "AsyncClient",
    "AsyncFallback",
    "Client",
    "Fallback",
    "FilePart",
    "ImagePart",
    "Limits",
    "ModelRequest",
    "ModelResponse",
    "Quirks",
    "RetryPolicy",
    "Run",
    "RunResult",
    "Session",
    "SystemMessage",
    "TextPart",
    "Timeouts",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolMessage",
    "ToolResult",
    "Usage",
    "UserMessage",
    "__version__",
    "allow",
    "convert",
    "deny",
    "edit",
    "tool",
]


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{where}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
