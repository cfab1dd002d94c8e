"""Imports point down only, and `httpx` stays in its rooms. The test reads the sources; it imports nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "agentloop"
LEAVES = {"errors", "shapes", "cancel", "repairs", "parts", "messages", "arguments", "callids", "pairing", "_version"}
WIRE, LOOP = {"wire", "http"}, {"tools", "history", "loop", "agent", "session"}
ROOMS = ["testing", "mock", "toolbox", "durable", "service", "cli"]
HTTP_ROOMS = {"http", "testing", "mock", "toolbox"}

MAY_IMPORT = {
    **dict.fromkeys(LEAVES, LEAVES),
    "model": LEAVES,
    "wire": LEAVES | {"model", "wire"},
    "http": LEAVES | {"model", "wire", "http"},
    "tools": LEAVES | {"model", "tools"},
    "history": LEAVES | {"model", "history"},
    "loop": LEAVES | {"model", "tools", "history", "loop"},
    "agent": LEAVES | {"model", "tools", "history", "loop"},
    "session": LEAVES | {"model", "tools", "history", "loop", "agent"},
    "__init__": LEAVES | WIRE | LOOP | {"model"},
    "__main__": {"cli"},
} | {room: LEAVES | WIRE | LOOP | {"model", "__init__"} | set(ROOMS[: number + 1]) for number, room in enumerate(ROOMS)}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def typing_only(path: Path) -> set[str]:
    """Modules imported under `if TYPE_CHECKING:` cost nothing when the program runs."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom) and inner.module:
                    found.update(f"{inner.module}.{alias.name}" for alias in inner.names)
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_lies_below_it(path: Path):
    for name in set(imports(path)) - typing_only(path):
        if name.split(".")[0] == "agentloop":
            room = [*name.split("."), "__init__"][1]
            known = room if room in MAY_IMPORT else "__init__"
            assert known in MAY_IMPORT[room_of(path)], f"{path.relative_to(PACKAGE)} must not import {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_http_libraries_are_imported_in_their_rooms_only(path: Path):
    if room_of(path) not in HTTP_ROOMS:
        assert not {name.split(".")[0] for name in imports(path)} & {"httpx", "httpcore", "h11", "requests"}


def test_every_room_is_known_to_this_test():
    assert {room_of(path) for path in modules()} <= MAY_IMPORT.keys()
