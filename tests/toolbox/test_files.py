"""The file tools: what they do."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentloop.errors import ConfigError, ToolError
from agentloop.toolbox.files import file_tools
from agentloop.toolbox.root import Root


def test_the_tools_say_what_they_are(root: Path):
    assert [(tool.name, tool.risk, tool.effects) for tool in file_tools(root)] == [
        ("file.read", "read", "none"),
        ("file.list", "read", "none"),
        ("file.search", "read", "none"),
        ("file.write", "write", "idempotent"),
        ("file.edit", "write", "once"),
    ]


def test_without_write_only_reading_is_offered(root: Path):
    assert [tool.name for tool in file_tools(root, write=False)] == ["file.read", "file.list", "file.search"]


def test_a_root_that_is_no_folder_is_an_error(root: Path):
    with pytest.raises(ConfigError, match="no folder"):
        file_tools(root / "notes" / "a.txt")


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_file_is_read_as_it_is(files: Any):
    assert files.text("file.read", path="notes/a.txt") == "one\ntwo\nthree\n"


def test_a_part_of_a_file_says_which_lines_it_is(files: Any):
    assert files.text("file.read", path="notes/a.txt", first_line=2, lines=1) == "two\n[lines 2 to 2 of 3]"


def test_a_line_beyond_the_end_is_refused(files: Any):
    assert files.refusal("file.read", path="notes/a.txt", first_line=9) == "notes/a.txt has 3 lines"


def test_an_empty_file_is_empty_text(files: Any, root: Path):
    (root / "empty").touch()
    assert files.text("file.read", path="empty") == ""


def test_only_line_feeds_end_a_line(files: Any, root: Path):
    (root / "page").write_text("a\x0cb\u2028c\nd")
    assert files.text("file.read", path="page", first_line=2) == "d\n[lines 2 to 2 of 2]"


@pytest.mark.parametrize("data", [b"PK\x03\x04\x00\x00", b"\xff\xfe\xfa", b"text\x00more"])
def test_a_binary_file_is_refused(files: Any, root: Path, data: bytes):
    (root / "data").write_bytes(data)
    assert "is no text in UTF-8" in files.refusal("file.read", path="data")


def test_a_file_past_the_cap_is_refused_with_its_size(root: Path, calling: Callable[..., Any]):
    (root / "big").write_text("x" * 101)
    assert "101 bytes; at most 100" in calling(file_tools(root, max_bytes=100)).refusal("file.read", path="big")


def test_an_endless_file_is_cut_off_though_its_size_says_0(root: Path):
    with pytest.raises(ToolError, match="device"):
        Root.of("/dev").read("zero", 100)


def test_what_is_not_there_is_told_without_the_folders_outside(files: Any, root: Path):
    assert files.refusal("file.read", path="notes/b.txt") == "notes/b.txt: no such file or directory"
    assert files.refusal("file.read", path="nowhere/b.txt") == "nowhere: no such file or directory"


def test_a_folder_is_not_read(files: Any):
    assert files.refusal("file.read", path="notes") == "notes is a folder: list it"
    assert "root folder" in files.refusal("file.read", path=".")


# --- searching -------------------------------------------------------------------------------------------------------


def test_a_search_tells_file_line_and_text(files: Any):
    assert files.text("file.search", text="TW*") == "notes/a.txt:2: two"


def test_letter_case_may_count(files: Any):
    assert files.text("file.search", text="TWO", ignore_case=False) == "nothing found"


def test_a_star_stands_for_anything_in_between(files: Any, root: Path):
    (root / "b.txt").write_text("one and two\ntwo and one\n")
    assert files.text("file.search", text="one*two") == "b.txt:1: one and two"


def test_a_search_may_be_for_one_file(files: Any, root: Path):
    (root / "b.txt").write_text("two\n")
    assert files.text("file.search", text="two", path="b.txt") == "b.txt:1: two"
    assert files.text("file.list", path="b.txt") == "b.txt  4"


@pytest.mark.parametrize("names", ["src/*.py", "**/*.py"])
def test_a_folder_among_the_names_is_refused_rather_than_never_found(files: Any, names: str):
    assert "all folders below path" in files.refusal("file.search", text="two", files=names)


def test_names_narrow_the_search(files: Any, root: Path):
    (root / "b.py").write_text("two\n")
    assert files.text("file.search", text="two", files="*.py") == "b.py:1: two"


@pytest.mark.parametrize("name", [".env", ".ssh/config", "server.key", "my_credentials.json", ".git/config"])
def test_a_search_leaves_out_what_looks_secret_and_says_so(files: Any, root: Path, name: str):
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("two")
    told = files.text("file.search", text="two")
    assert told == "notes/a.txt:2: two\n[1 hidden, secret-looking, large or binary files left out]"


@pytest.mark.parametrize("text", ["(a+)+$", "[", "a{1000}{1000}", ".*" * 50])
def test_no_pattern_is_catastrophic(files: Any, root: Path, text: str):
    (root / "as").write_text("a" * 100_000 + "!")
    assert files.text("file.search", text=text) in ("nothing found", f"as:1: {'a' * 300}")


def test_a_search_ends_when_its_time_is_over(root: Path, calling: Callable[..., Any]):
    for number in range(9):
        (root / f"{number}.txt").write_text("two")
    ticks = iter(range(1000))
    files = calling(file_tools(root, search_seconds=5, clock=lambda: float(next(ticks))))
    told = files.text("file.search", text="two").splitlines()
    assert len(told) < 5
    assert told[-1] == "[stopped after 5 s: search a smaller folder]"


def test_hits_are_capped(files: Any, root: Path):
    (root / "many").write_text("two\n" * 1000)
    assert files.text("file.search", text="two").splitlines()[100:] == ["[only the first 100 lines are shown]"]


def test_an_empty_search_is_refused(files: Any):
    assert "give a text" in files.refusal("file.search", text="**")


def test_a_long_list_is_cut_and_says_so(files: Any, root: Path):
    for number in range(510):
        (root / f"{number:03}").touch()
    assert files.text("file.list").splitlines()[-1] == "[only the first 500 entries are shown]"


# --- writing ---------------------------------------------------------------------------------------------------------


def test_a_file_is_written_with_the_folders_on_its_way(files: Any, root: Path):
    assert files.text("file.write", path="new/deep/ä.txt", content="grün\n") == "created new/deep/ä.txt (6 bytes)"
    assert (root / "new" / "deep" / "ä.txt").read_text() == "grün\n"


def test_writing_replaces_and_keeps_the_mode(files: Any, root: Path):
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o4750)
    assert files.text("file.write", path="run.sh", content="new").startswith("replaced")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


def test_a_write_leaves_no_draft_behind(files: Any, root: Path):
    files.text("file.write", path="a", content="x")
    assert sorted(each.name for each in root.iterdir()) == ["a", "notes"]


def test_a_write_over_a_folder_is_refused_and_leaves_no_draft(files: Any, root: Path):
    assert "no regular file" in files.refusal("file.write", path="notes", content="x")
    assert sorted(each.name for each in root.iterdir()) == ["notes"]


def test_a_second_name_of_a_file_keeps_the_old_content(files: Any, root: Path):
    os.link(root.parent / "outside" / "secret.txt", root / "alias.txt")
    files.text("file.write", path="alias.txt", content="x")
    assert (root.parent / "outside" / "secret.txt").read_text() == "SECRET"


def test_a_read_only_file_stays(files: Any, root: Path):
    (root / "a").write_text("x")
    (root / "a").chmod(0o444)
    assert files.refusal("file.write", path="a", content="y") == "a is read-only"


def test_a_text_past_the_cap_is_not_written(root: Path, calling: Callable[..., Any]):
    assert "at most 10" in calling(file_tools(root, max_bytes=10)).refusal("file.write", path="a", content="x" * 11)
    assert not (root / "a").exists()


def test_an_edit_replaces_one_passage(files: Any, root: Path):
    assert files.text("file.edit", path="notes/a.txt", old="two\n", new="2\n") == "changed notes/a.txt at line 2"
    assert (root / "notes" / "a.txt").read_text() == "one\n2\nthree\n"


@pytest.mark.parametrize(
    ("old", "why"),
    [("e", "occurs 3 times"), ("four", "does not hold this passage"), ("", "old is empty")],
)
def test_an_edit_that_is_not_unique_changes_nothing(files: Any, root: Path, old: str, why: str):
    assert why in files.refusal("file.edit", path="notes/a.txt", old=old, new="x")
    assert (root / "notes" / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_an_edit_keeps_line_ends_and_says_when_they_differ(files: Any, root: Path):
    (root / "dos").write_bytes(b"a\r\nb\r\nc\r\n")
    assert r"end in \r\n" in files.refusal("file.edit", path="dos", old="a\nb", new="x")
    files.text("file.edit", path="dos", old="a", new="x")
    assert (root / "dos").read_bytes() == b"x\r\nb\r\nc\r\n"


def test_a_file_that_changed_since_it_was_read_is_not_replaced(root: Path):
    folder = Root.of(root)
    _, as_read = folder.read("notes/a.txt", 100)
    (root / "notes" / "a.txt").write_text("something longer")
    with pytest.raises(ToolError, match="changed by someone else"):
        folder.replace("notes/a.txt", b"x", as_read=as_read)
