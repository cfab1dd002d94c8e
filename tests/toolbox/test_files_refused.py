"""The file tools: what they refuse to whoever tries, and what they ask about."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ToolError
from agentloop.toolbox.paths import parts_of

OUT = [
    "../outside/secret.txt",
    "notes/../../outside/secret.txt",
    "..",
    "notes/..",
    "/etc/passwd",
    "//server/share/x",
    "~/x",
    "\\\\server\\share\\x",
    "..\\outside\\secret.txt",
    "C:\\x",
    "C:/x",
    "c:x",
    "a\0b",
    "file:///etc/passwd",
    "a/" * 3000 + "b",
]


@pytest.mark.parametrize("path", OUT)
@pytest.mark.parametrize("name", ["file.read", "file.list", "file.write", "file.edit", "file.search"])
def test_no_path_leads_out(files: Any, name: str, path: str):
    more = {"file.write": {"content": "x"}, "file.edit": {"old": "a", "new": "b"}, "file.search": {"text": "x"}}
    assert "not allowed" in files.refusal(name, path=path, **more.get(name, {}))


@given(st.text())
def test_the_parts_of_any_path_stay_below_the_root(path: str):
    try:
        parts = parts_of(path)
    except ToolError:
        return
    assert not {"", ".", ".."} & set(parts)
    assert not any("/" in part or "\\" in part or "\0" in part for part in parts)


def test_a_link_to_a_file_is_not_followed(files: Any, root: Path):
    (root / "link").symlink_to(root.parent / "outside" / "secret.txt")
    assert files.refusal("file.read", path="link") == "link is a link, and links are not followed"


def test_a_link_to_a_folder_is_not_followed(files: Any, root: Path):
    (root / "link").symlink_to(root.parent / "outside")
    for name, more in (("file.read", {}), ("file.write", {"content": "x"}), ("file.edit", {"old": "S", "new": "x"})):
        assert "links are not followed" in files.refusal(name, path="link/secret.txt", **more)
    assert "links are not followed" in files.refusal("file.list", path="link")
    assert (root.parent / "outside" / "secret.txt").read_text() == "SECRET"


def test_a_link_that_stays_inside_is_not_followed_either(files: Any, root: Path):
    (root / ".env").write_text("KEY=1")
    (root / "harmless.txt").symlink_to(root / ".env")
    assert "links are not followed" in files.refusal("file.read", path="harmless.txt")


def test_writing_to_a_link_changes_nothing(files: Any, root: Path):
    (root / "link").symlink_to(root.parent / "outside" / "secret.txt")
    assert "no regular file" in files.refusal("file.write", path="link", content="x")
    assert (root.parent / "outside" / "secret.txt").read_text() == "SECRET"


def test_a_list_shows_links_and_does_not_enter_them(files: Any, root: Path):
    (root / "link").symlink_to(root.parent / "outside")
    assert files.text("file.list", depth=3) == "link  (link, not opened)\nnotes/\nnotes/a.txt  14"


def test_a_search_does_not_enter_links(files: Any, root: Path):
    (root / "link").symlink_to(root.parent / "outside")
    assert files.text("file.search", text="SECRET") == "nothing found"


def test_a_folder_that_is_swapped_for_a_link_again_and_again_never_leads_out(files: Any, root: Path):
    target, folder, spare = root.parent / "outside", root / "box", root / "spare"
    folder.mkdir()
    (folder / "secret.txt").write_text("mine")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            with suppress(OSError):  # a write may have made the folder anew meanwhile
                folder.rename(spare)
                folder.symlink_to(target)
                folder.unlink()
                spare.rename(folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = {files("file.read", path="box/secret.txt").content for _ in range(400)}
        for _ in range(100):
            files("file.write", path="box/new.txt", content="x")
    finally:
        done.set()
        thread.join()
    assert "SECRET" not in seen
    assert sorted(each.name for each in target.iterdir()) == ["secret.txt"]


def test_a_pipe_neither_blocks_nor_is_read(files: Any, root: Path):
    os.mkfifo(root / "pipe")
    assert "no regular file" in files.refusal("file.read", path="pipe")
    assert "no regular file" in files.refusal("file.write", path="pipe", content="x")
    assert files.text("file.list", depth=1) == "notes/\npipe  (special file, not opened)"
    assert files.text("file.search", text="x") == "nothing found"


def test_a_socket_is_not_read(files: Any, root: Path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "s"))
        assert files.refusal("file.read", path="s").startswith("s: no such device")


# --- what asks although it is allowed --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [".env", ".ENV", "a/.aws/credentials", "id_rsa", "server.PEM", "db_password.txt", "prod.env"]
)
def test_reading_what_looks_secret_is_danger(files: Any, path: str):
    assert files.risk("file.read", path=path) == "danger"
    assert files.risk("file.search", path=path, text="x") == "danger"


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        "\u200c.git/hooks/pre-commit",
        "vendored/HEAD",
        "Cargo.toml",
        "sub/.git/config",
        "conftest.py",
        "tests/conftest.py",
        "CONFTEST.PY",
        "Makefile",
        "Make\u200cfile",
        "\uff2dakefile",
        "GNUmakefile",
        "package.json",
        "pyproject.toml",
        "x.pth",
        ".bashrc",
        ".github/workflows/ci.yml",
        "Dockerfile",
    ],
)
def test_writing_what_runs_by_itself_is_danger(files: Any, path: str):
    assert files.risk("file.write", path=path, content="x") == "danger"
    assert files.risk("file.edit", path=path, old="x", new="y") == "danger"


@pytest.mark.parametrize("path", ["notes/a.txt", "src/main.py", "README.md"])
def test_an_ordinary_file_has_the_risk_of_the_tool(files: Any, path: str):
    assert files.risk("file.read", path=path) == "read"
    assert files.risk("file.write", path=path, content="x") == "write"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd"])
def test_nobody_is_asked_about_a_path_that_is_refused_anyway(files: Any, path: str):
    assert files.risk("file.write", path=path, content="x") == "write"
