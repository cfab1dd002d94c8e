"""The names that `import agentloop` promises, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentloop


def test_the_public_names_are_these():
    assert agentloop.__all__ == [
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


@pytest.mark.parametrize("name", agentloop.__all__)
def test_every_public_name_loads(name: str):
    assert getattr(agentloop, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = agentloop.nonsense


@pytest.mark.parametrize(
    "heavy",
    ["pydantic", "click", "rich", "sqlite3", "tenacity", "jsonschema_rs", "asyncio", "httpcore", "agentloop.model"],
)
def test_the_client_and_the_agent_load_nothing_heavy(heavy: str):
    code = f"from agentloop import Client, Agent; import sys; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
