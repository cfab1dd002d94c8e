"""The event stream decoder, by the standard and beyond it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.errors import ProtocolError
from agentloop.wire.sse import SSEDecoder

BOM = "\ufeff"


def decoded(*chunks: bytes, tail: bool = False) -> list[tuple[str, str]]:
    decoder = SSEDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events += decoder.end() if tail else []
    return [(name, data.decode("utf-8", "replace")) for name, data in events]


def messages(*data: str) -> list[tuple[str, str]]:
    return [("message", text) for text in data]


STANDARD = [
    (b"data: a\n\n", messages("a")),
    (b"data:a\n\n", messages("a")),
    (b"data:  a\n\n", messages(" a")),
    (b"data: a\r\n\r\n", messages("a")),
    (b"data: a\r\rdata: b\r\r", messages("a", "b")),
    (b"data: a\n\r\ndata: b\n\n", messages("a", "b")),
    (b"data: a\r\n\r\ndata: b\n\n", messages("a", "b")),
    (b"data: A\r\ndata: B\ndata: C\r\r\n", messages("A\nB\nC")),
    (b"data: a\ndata: b\n\n", messages("a\nb")),
    (b'data: {"a":1,\ndata: "b":2}\n\n', messages('{"a":1,\n"b":2}')),
    (b"data\n\n", messages("")),
    (b"data:\n\n", messages("")),
    (b"data\ndata\n\n", messages("\n")),
    (b"\xef\xbb\xbfdata: a\n\n", messages("a")),
    (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", messages("b")),
    (b'\xef\xbb\xbfdata: {"x":1}\n\ndata: \xef\xbb\xbfy\n\n', messages('{"x":1}', BOM + "y")),
    (b": keep-alive\n\n: x\n\ndata: a\n\n", messages("a")),
    (b":\n:\n\ndata: a\n\n", messages("a")),
    (b"\n\n\ndata: a\n\n", messages("a")),
    (b"event: ping\n\ndata: a\n\n", messages("a")),
    (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("message", "b")]),
    (b"event: x\nevent:\ndata: a\n\n", messages("a")),
    (b"id: 7\ndata: a\n\nid: 8\n\ndata: b\n\n", messages("a", "b")),
    (b"retry: 1500\n\ndata: a\n\n", messages("a")),
    (b"data: a\xe2\x80\xa8b\n\n", messages("a\u2028b")),
    (b"data: a\x0bb\x0cc\xc2\x85d\x1ce\n\n", messages("a\x0bb\x0cc\x85d\x1ce")),
    (b" data: a\n\nData: b\n\ndata : c\n\ndata: d\n\n", messages("d")),
    (b"data: a: b\n\n", messages("a: b")),
    (b"foo: 1\ndata: a\n\n", messages("a")),
    (b"data: \xe4\xbd\xa0\n\n", messages("你")),
    (b"data: \xff\xfe\n\n", messages("\ufffd\ufffd")),
    (b"data: a\n\ndata: lost", messages("a")),
]


@pytest.mark.parametrize(("body", "expected"), STANDARD)
def test_the_examples_of_the_standard(body: bytes, expected: list[tuple[str, str]]) -> None:
    assert decoded(body) == expected


@pytest.mark.parametrize(("body", "expected"), STANDARD)
def test_the_split_of_the_bytes_does_not_matter(body: bytes, expected: list[tuple[str, str]]) -> None:
    assert decoded(*(body[i : i + 1] for i in range(len(body)))) == expected
    for i in range(len(body)):
        assert decoded(body[:i], body[i:]) == expected


def test_a_line_end_split_over_two_chunks_is_one_line_end() -> None:
    assert decoded(b'data: {"a":\r', b"\ndata: 1}\r\n", b"\r", b"\n", b"data: x\r\n\r\n") == messages('{"a":\n1}', "x")


def test_a_carriage_return_inside_a_later_chunk_ends_its_line() -> None:
    assert decoded(b"data: {}\n\n", b"data: {\rdata: }\n\n", b"data: {}\r\n\n") == messages("{}", "{\n}", "{}")


def test_a_carriage_return_ends_its_line_without_waiting_for_the_next_byte() -> None:
    assert decoded(b"data: a\r\r") == messages("a")


def test_the_last_id_stays_and_an_id_with_a_null_character_is_ignored() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"id: 7\ndata: a\n\nid: 8\0\n\n")
    assert decoder.last_event_id == "7"
    decoder.feed(b"id\n\n")
    assert decoder.last_event_id == ""


@pytest.mark.parametrize(("line", "retry"), [(b"1500", 1500), (b"10x", None), (b"", None), (b"-1", None)])
def test_only_digits_set_the_reconnection_time(line: bytes, retry: int | None) -> None:
    decoder = SSEDecoder()
    decoder.feed(b"retry: " + line + b"\n\n")
    assert decoder.retry == retry


@pytest.mark.parametrize("body", [b"data: a", b"data: a\n", b"data: a\r", b"data: a\r\n", b"data: a\n\n"])
def test_at_a_clean_end_a_whole_last_event_counts_without_its_blank_line(body: bytes) -> None:
    assert decoded(body, tail=True) == messages("a")


@pytest.mark.parametrize("line", [b"data: : OPENROUTER PROCESSING", b"data::ping", b"data: :"])
def test_a_data_line_that_wraps_a_comment_is_skipped(line: bytes) -> None:
    assert decoded(line + b"\n\ndata: a\n" + line + b"\n\n") == messages("a")


@pytest.mark.parametrize("chunk", [b"data: aaaa", b"data: a\n", b"aaaaaaaaaa"])
def test_an_event_above_the_limit_is_an_error(chunk: bytes) -> None:
    decoder = SSEDecoder(limit=100)
    with pytest.raises(ProtocolError, match="larger than 100 bytes"):
        [decoder.feed(chunk) for _ in range(60)]


def test_many_small_events_never_reach_the_limit() -> None:
    decoder = SSEDecoder(limit=100)
    chunks = [b": comment\nda", b"ta: aaaa\n", b"\n", b"data: {}\n\n"] * 500
    assert sum(len(decoder.feed(chunk)) for chunk in chunks) == 1000


# --- against another decoder -----------------------------------------------------------------------------------------


def by_the_book(body: bytes) -> list[tuple[str, str]]:
    """The standard's algorithm on the whole text, written as plainly as possible.

    It knows none of our deviations: the last event without a blank line, data that wraps a comment, and the limit.
    """
    events: list[tuple[str, str]] = []
    data: list[str] = []
    name = ""
    for line in re.split("\r\n|\r|\n", body.decode("utf-8", "replace").removeprefix(BOM))[:-1]:
        field, _, value = line.partition(":")
        if line == "":
            if data:
                events.append((name or "message", "\n".join(data)))
            data, name = [], ""
        elif field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
    return events


COMMON = [b"data: {}", b"data:x", b"data", b"data:  y", b"event: e", b"event", b"id: 1", b"retry: 5", b": c", b":", b""]
ODD = [
    b"dat",
    b"data\xff: z",
    b"data: \xe4\xbd",
    b"data: \xe4\xbd\xa0",
    b"\xef\xbb\xbfdata: b",
    b"data: a\xe2\x80\xa8b",
]
lines = st.sampled_from([*COMMON, b"", *ODD])
bodies = st.lists(st.tuples(lines, st.sampled_from([b"\n", b"\r\n", b"\r"])).map(b"".join)).map(b"".join)


@settings(max_examples=500)
@given(bodies, st.data())
def test_any_split_gives_the_events_of_another_decoder(body: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert decoded(*chunks) == by_the_book(body)


event_lists = st.lists(st.tuples(st.sampled_from(["message", "x"]), st.text().filter(lambda t: "\r" not in t)))


@given(event_lists, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 9))
def test_events_come_back_as_they_were_written(events: list[tuple[str, str]], end: str, size: int) -> None:
    events = [(name, re.sub("(?m)^ ?:", ";", text)) for name, text in events]
    blocks = [[f"event: {name}", *(f"data: {line}" for line in text.split("\n")), "", ""] for name, text in events]
    body = "".join(end.join(block) for block in blocks).encode("utf-8", "replace")
    expected = [(name, text.encode("utf-8", "replace").decode()) for name, text in events]
    assert decoded(*(body[i : i + size] for i in range(0, len(body), size))) == expected
