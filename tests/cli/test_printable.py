"""What strangers wrote must not steer a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.cli.printable import cut, one_line, printable


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("bell\x07", "bell\\x07"),
        ("rubout\x7f", "rubout\\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("rm \u202efdp.exe", "rm \\u202efdp.exe"),
        ("\u2066isolate\u2069", "\\u2066isolate\\u2069"),
        ("over\rwritten", "over\\rwritten"),
        ("next\u2028line", "next\\u2028line"),
        ("half \ud83d", "half \\ud83d"),
    ],
)
def test_controls_and_bidirectional_characters_become_escapes(raw: str, shown: str):
    assert printable(raw) == shown
    assert one_line(raw) == shown


@pytest.mark.parametrize("text", ["plain", "zwei\nZeilen\tTab", "日本語", "می‌خواهم", "👩‍👩‍👧", "naïve", ""])
def test_ordinary_text_stays_as_it_is(text: str):
    assert printable(text) == text


def test_a_line_to_approve_shows_line_ends_and_invisible_characters():
    assert one_line("a\n\tb") == "a\\n\\tb"
    assert one_line("ad\u200bmin\u00a0\u00ad") == "ad\\u200bmin\\xa0\\xad"
    assert one_line("tag \U000e0041") == "tag \\U000e0041"


def test_a_line_to_approve_keeps_letters_of_all_languages():
    assert one_line('{"city": "São Paulo 東京"}') == '{"city": "São Paulo 東京"}'


@given(st.text())
def test_nothing_that_is_shown_steers_a_terminal(text: str):
    assert not [c for c in printable(text) if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert all(c == " " or unicodedata.category(c)[0] != "C" for c in one_line(text))


@given(st.lists(st.text()))
def test_a_stream_is_escaped_alike_in_any_pieces(pieces: list[str]):
    assert "".join(map(printable, pieces)) == printable("".join(pieces))


def test_a_cut_text_says_how_long_it_was():
    assert cut("x" * 100, 30) == "x" * 12 + "… (100 characters)"
    assert cut("short", 5) == "short"
