"""Finding keys in files: where they are, without showing them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentloop.errors import ConfigError
from agentloop.testing import check

Write = Callable[..., Path]
KEY = "sk-REC-123456"


def test_a_clean_cassette_has_no_leaks(write: Write, asked: Any) -> None:
    assert check([write(asked())]) == []


@pytest.mark.parametrize(
    ("request_", "response", "where"),
    [
        ({"headers": {"Authorization": "Bearer abc"}}, {}, "exchange 1.request.headers.authorization"),
        ({"url": f"https://x/?key={KEY}"}, {}, "exchange 1.request.url"),
        ({"body": {"a": [{"b": f"is {KEY}"}]}}, {}, "exchange 1.request.body.a[0].b"),
        ({}, {"headers": {"Set-Cookie": "sid=abc"}}, "exchange 1.response.headers.set-cookie"),
        ({}, {"text": f"is {KEY}"}, "exchange 1.response.text"),
        ({}, {"base64": "/3NrLVJFQy0xMjM0NTY="}, "exchange 1.response.base64"),
        ({}, {"chunks": ["x sk-RE", "C-123456\n\n"]}, "exchange 1.response.chunks[0].text"),
        (
            {},
            {"chunks": [{"data": {"d": "sk-RE"}}, {"data": {"d": "C-123456"}}]},
            "exchange 1.response.chunks[0].data.d",
        ),
    ],
)
def test_a_leak_is_named_by_its_place(
    write: Write, request_: dict[str, Any], response: dict[str, Any], where: str
) -> None:
    path = write({"request": {"url": "https://x/", **request_}, "response": response})
    leaks = check([path])
    assert leaks[0].where == where
    assert str(leaks[0]).startswith(f"{path}: {where}: a ")


def test_the_report_never_shows_the_key(write: Write) -> None:
    path = write({"request": {"url": f"https://x/?key={KEY}", "body": KEY}, "response": {"text": KEY}})
    leaks = check([path])
    assert len(leaks) == 3
    assert "REC" not in repr(leaks)


def test_a_key_that_is_a_member_name_is_not_shown_either(write: Write) -> None:
    path = write({"request": {"url": "https://x/"}, "response": {"body": {KEY: 1}}})
    assert [leak.where for leak in check([path])] == ["exchange 1.response.body.***"]


def test_named_keys_are_looked_for(write: Write, asked: Any) -> None:
    path = write(asked("correct horse battery"))
    assert check([path]) == []
    assert [leak.where for leak in check([path], secrets=["correct horse battery"])] == [
        "exchange 1.request.body.messages[0].content"
    ]


def test_other_text_files_are_looked_at_by_line(tmp_path: Path) -> None:
    (tmp_path / "x.har").write_text(f"one\ntwo {KEY}\n")
    assert [leak.where for leak in check([tmp_path / "x.har"])] == ["line 2"]


def test_folders_are_looked_through(write: Write, tmp_path: Path) -> None:
    write({"request": {"url": f"https://x/?key={KEY}"}, "response": {}})
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "y.json").write_text(f'["{KEY}"]')
    assert {leak.path.name for leak in check([tmp_path])} == {"x.json", "y.json"}


def test_a_body_that_cannot_be_searched_is_a_leak(write: Write) -> None:
    path = write(
        {"request": {"url": "https://x/"}, "response": {"headers": {"content-encoding": "br"}, "base64": "AQ=="}}
    )
    assert "cannot be decoded" in check([path])[0].what


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file or folder"):
        check([tmp_path / "x.json"])
