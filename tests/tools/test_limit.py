"""Long results are cut to what a model should read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.parts import ImagePart, TextPart
from agentloop.tools import outcome
from agentloop.tools.limit import Excerpt, cap
from agentloop.tools.tool import Tool, tool


@pytest.mark.parametrize("text", ["x" * 1_900_000, "ü" * 5000, json.dumps(list(range(5000))), "e" * 1001])
def test_a_long_text_is_cut_to_the_limit_with_head_tail_and_numbers(text: str) -> None:
    cut = cap(text, 1000)
    assert len(cut) <= 1000
    assert cut.startswith(text[:500])
    assert cut.endswith(text[-100:])
    left_out = len(text) - (len(cut) - cut.rindex("]\n") - 2 + cut.index("\n[... "))
    assert f"[... {left_out} of {len(text)} characters left out ...]" in cut
    assert "\ufffd" not in cut


def test_a_text_of_just_the_limit_is_unchanged() -> None:
    assert cap("x" * 1000, 1000) == "x" * 1000


@pytest.mark.parametrize(("limit", "text"), [(0, ""), (1, "a"), (10, "abcdefghij")])
def test_a_limit_too_small_for_the_note_gives_the_head(limit: int, text: str) -> None:
    assert cap("abcdefghijklmnop", limit) == text


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 120))
def test_no_text_is_longer_than_its_limit(text: str, limit: int) -> None:
    cut = cap(text, limit)
    assert len(cut) <= limit or cut == text
    assert (cut == text) == (len(text) <= limit)


@settings(deadline=None)
@given(st.lists(st.text(max_size=60), max_size=8), st.integers(0, 120))
def test_a_text_in_pieces_is_cut_as_the_whole_would_be(pieces: list[str], limit: int) -> None:
    excerpt = Excerpt(limit)
    for piece in pieces:
        excerpt.add(piece)
    assert excerpt.text() == cap("".join(pieces), limit)


def test_the_whole_text_stays_with_the_result(run) -> None:
    result = run(tool(lambda: "x" * 5000, name="long", max_result=1000))
    assert len(result.content) <= 1000
    assert result.whole == "x" * 5000


def test_a_short_result_keeps_nothing_aside(run) -> None:
    assert run(tool(lambda: "x", name="short")).whole is None


def test_an_error_text_is_cut_too(run) -> None:
    def fail() -> None:
        raise ValueError("e" * 100_000)

    result = run(tool(fail, max_result=1000))
    assert result.is_error
    assert len(result.content) <= 1000
    assert result.content.startswith("ValueError: eee")


def test_the_texts_beside_an_image_share_the_limit() -> None:
    tool_ = Tool("see", function=print, max_result=100)
    image = ImagePart(url="https://example.test/" + "a" * 500)
    result = outcome.finish(tool_, [TextPart("x" * 80), image, TextPart("y" * 80)])
    assert result.content[1] is image
    assert sum(len(part.text) for part in result.content if isinstance(part, TextPart)) <= 100


def test_more_images_than_can_be_sent_are_an_error() -> None:
    image = ImagePart(url="data:image/png;base64," + "A" * outcome.MAX_PARTS)
    result = outcome.finish(Tool("see", function=print), image)
    assert (result.is_error, result.kind) == (True, "too_large")


def test_no_limit_is_none(run) -> None:
    assert len(run(tool(lambda: "x" * 200_000, name="all_of_it", max_result=None)).content) == 200_000


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_result"):
        Tool("t", function=print, max_result=-1)
