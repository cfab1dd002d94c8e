"""What the tests of the tools share: calling a tool as an agent would."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from agentloop.messages import ToolCall, ToolResult
from agentloop.toolbox.files import file_tools
from agentloop.toolbox.web import web_tool
from agentloop.tools.context import ToolContext
from agentloop.tools.execute import execute
from agentloop.tools.policy import ToolRequest
from agentloop.tools.tool import Risk, Tool
from agentloop.tools.toolbox import Toolbox, prepare
from tests.toolbox.site import Site


class Called:
    """`called("file.read", path="a.txt")` is the result of the call; `called.risk(...)` what a policy would see."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.toolbox = Toolbox(tools)

    def __call__(self, name: str, **arguments: Any) -> ToolResult:
        prepared = prepare(self.toolbox, ToolCall("c1", name, json.dumps(arguments)))
        return prepared if isinstance(prepared, ToolResult) else execute(prepared, context=ToolContext(run_id="r1"))

    def text(self, name: str, **arguments: Any) -> str:
        result = self(name, **arguments)
        assert not result.is_error, result.content
        assert isinstance(result.content, str)
        return result.content

    def refusal(self, name: str, **arguments: Any) -> str:
        result = self(name, **arguments)
        assert result.is_error, result.content
        assert isinstance(result.content, str)
        return result.content

    def risk(self, name: str, **arguments: Any) -> Risk | None:
        return ToolRequest.of(ToolCall("c1", name, json.dumps(arguments)), self.toolbox.get(name)).risk


@pytest.fixture
def calling() -> Callable[[Iterable[Tool]], Called]:
    return Called


@pytest.fixture
def fetching(calling: Callable[..., Any]) -> Callable[..., Any]:
    """fetching(site, hosts=...): the called tool over that site."""

    def made(site: Site, **options: Any) -> Any:
        return calling([web_tool(transport=site.transport, resolve=site.resolve, **options)])

    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root beside a folder with a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("SECRET")
    inside = tmp_path / "root"
    (inside / "notes").mkdir(parents=True)
    (inside / "notes" / "a.txt").write_text("one\ntwo\nthree\n")
    return inside


@pytest.fixture
def files(root: Path, calling: Callable[..., Any]) -> Any:
    return calling(file_tools(root))
