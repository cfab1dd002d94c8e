"""The file: what may be written by hand, what a review sees, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.testing import Cassette
from agentloop.testing.bodies import Chunk, Unfaithful, load_json
from agentloop.testing.exchanges import Exchange, RecordedRequest, RecordedResponse

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}


def response_form(headers: dict[str, str], *chunks: bytes) -> dict[str, Any]:
    response = RecordedResponse(200, headers, tuple(map(Chunk, chunks)))
    return Exchange(RecordedRequest("GET", "https://x/"), response).to_dict()["response"]


def test_by_hand_an_exchange_needs_a_url_and_an_answer() -> None:
    exchange = Exchange.from_dict({"request": {"url": "https://x/", "body": {"a": 1}}, "response": {"body": [2]}})
    assert exchange.request.method == "POST"
    assert exchange.request.content == b'{"a":1}'
    assert exchange.response == RecordedResponse(200, JSON, (Chunk(b"[2]"),))


def test_by_hand_a_chunk_may_be_a_string_or_the_data_of_an_event() -> None:
    chunks = ["data: 1\n\n", {"data": {"n": 2}}, {"event": "end", "data": {"n": 3}}, {"data": "[DONE]"}]
    exchange = Exchange.from_dict({"request": {"url": "https://x/"}, "response": {"chunks": chunks}})
    assert exchange.request.method == "GET"
    assert exchange.response is not None
    assert exchange.response.content == b'data: 1\n\ndata: {"n":2}\n\nevent: end\ndata: {"n":3}\n\ndata: [DONE]\n\n'
    assert exchange.response.headers == SSE


def test_header_names_are_compared_without_case() -> None:
    exchange = Exchange.from_dict({"request": {"url": "https://x/"}, "response": {"headers": {"Retry-After": "1"}}})
    assert exchange.response is not None
    assert exchange.response.headers == {"retry-after": "1"}


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'{"a": 1.0, "b": "\\u00e9"}', {"body": {"a": 1.0, "b": "é"}}),
        (b'{"a": 1, "a": 2}', {"text": '{"a": 1, "a": 2}'}),
        (b'\n\n{"a": 1}', {"text": '\n\n{"a": 1}'}),
        (b'{"a": NaN}', {"text": '{"a": NaN}'}),
        (b'{"a": 1e999}', {"text": '{"a": 1e999}'}),
        (b'"\\ud83d"', {"text": '"\\ud83d"'}),
        (b"not json", {"text": "not json"}),
        (b"\xff\x00", {"base64": "/wA="}),
        (b"", {}),
    ],
)
def test_a_body_has_the_most_readable_form_that_loses_nothing(body: bytes, form: dict[str, Any]) -> None:
    assert response_form(JSON, body) == {"status": 200, "headers": JSON, **form}


def test_a_text_that_looks_like_json_stays_a_text() -> None:
    plain = {"content-type": "text/plain"}
    assert response_form(plain, b"1e5") == {"status": 200, "headers": plain, "text": "1e5"}


def test_an_event_is_shown_parsed_only_when_that_gives_back_its_bytes() -> None:
    form = response_form(SSE, b'data: {"n":1}\n\n', b'data:{"n":1}\n\n', b'data: {"n":"\\u0061"}\n\n')
    assert form["chunks"] == [
        {"data": {"n": 1}},
        {"text": 'data:{"n":1}\n\n'},
        {"text": 'data: {"n":"\\u0061"}\n\n'},
    ]


def test_an_event_of_a_server_that_writes_blanks_is_shown_parsed_too() -> None:
    event = b'event: delta\ndata: {"n": [1, 2]}\n\n'
    form = response_form(SSE, event)
    assert form["chunks"] == [{"spaced": True, "event": "delta", "data": {"n": [1, 2]}}]
    again = Exchange.from_dict({"request": {"url": "https://x/"}, "response": form})
    assert again.response is not None
    assert again.response.content == event


def test_a_chunk_that_ends_within_a_character_is_base64() -> None:
    form = response_form(SSE, "data: é".encode()[:-1], "é\n\n".encode()[1:])
    assert form["chunks"] == [{"base64": "ZGF0YTogww=="}, {"base64": "qQoK"}]


def test_each_chunk_and_each_small_object_stands_on_one_line(tmp_path: Path) -> None:
    chunks = tuple(Chunk(b'data: {"choices":[{"delta":{"content":"%d"}}]}\n\n' % n, n / 10) for n in (1, 2))
    message = b'{"messages":[{"role":"user","content":"' + b"long " * 40 + b'"}]}'
    request = RecordedRequest("POST", "https://x/", JSON, message)
    Cassette((Exchange(request, RecordedResponse(200, SSE, chunks)),)).save(tmp_path / "x.json")
    lines = (tmp_path / "x.json").read_text("utf-8").splitlines()
    assert '          {"at": 0.1, "data": {"choices": [{"delta": {"content": "1"}}]}},' in lines
    assert any(line.lstrip().startswith('{"role": "user", "content": "long long') for line in lines)


@given(chunks=st.lists(st.tuples(st.binary(), st.none() | st.integers(0, 9)), max_size=4), event_stream=st.booleans())
def test_the_form_gives_back_the_same_bytes(chunks: list[tuple[bytes, int | None]], event_stream: bool) -> None:
    response = RecordedResponse(200, SSE if event_stream else JSON, tuple(Chunk(*chunk) for chunk in chunks))
    form = Exchange(RecordedRequest("GET", "https://x/"), response).to_dict()
    again = Exchange.from_dict(json.loads(json.dumps(form)))
    assert again.response is not None
    assert again.to_dict() == form
    try:
        assert load_json(again.response.content) == load_json(response.content)
    except Unfaithful:
        assert again.response.content == response.content


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists))
def test_a_json_value_survives_the_file(value: Any) -> None:
    try:
        content = json.dumps(value).encode()
        load_json(content)
    except Unfaithful:
        return
    request = RecordedRequest("POST", "https://x/", JSON, content)
    again = Exchange.from_dict(json.loads(json.dumps(Exchange(request, RecordedResponse()).to_dict())))
    assert json.loads(again.request.content) == value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "no list of exchanges"),
        ({"version": 9, "exchanges": []}, "version 9"),
        ({"exchanges": [], "ignroe": []}, "unknown key 'ignroe'"),
        ({"exchanges": [], "ignore": "body"}, "ignore must be a list"),
        ({"exchanges": [{}]}, "exchange 1: has no request"),
        ({"exchanges": [{"request": {"url": "https://x/"}}]}, "exchange 1: has neither a response nor an error"),
        ({"exchanges": [{"request": {}, "response": {}}]}, "exchange 1: request: has no url"),
        ({"exchanges": [{"request": {"url": 1}, "response": {}}]}, "url must be str, not 1"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"staus": 1}}]}, "response: unknown key 'staus'"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"status": True}}]}, "status must be int, not True"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"text": "", "body": 1}}]}, "has body and text"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"base64": "?"}}]}, "base64 cannot be decoded"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"text": "\ud83d"}}]}, "half a surrogate pair"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"headers": {"a": 1}}}]}, "header 'a' must be a string"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"chunks": [3]}}]}, "chunk 1: must be a string"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"chunks": [{"at": 1}]}}]}, "chunk 1: must have one of"),
        ({"exchanges": [{"request": {"url": "u"}, "response": {"chunks": [{"at": "1", "text": ""}]}}]}, "at must be a"),
        ({"exchanges": [{"request": {"url": "u"}, "error": {"type": "ValueError"}}]}, "no error of a transport"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_place(tmp_path: Path, data: object, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError) as caught:
        Cassette.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_missing_file_says_to_record_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such cassette; record it first"):
        Cassette.load(tmp_path / "x.json")


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ConfigError, match=r"x\.json: cannot be read as JSON"):
        Cassette.load(tmp_path / "x.json")


def test_every_transport_error_of_httpx_can_be_recorded() -> None:
    for name in ("ConnectError", "ReadTimeout", "PoolTimeout", "RemoteProtocolError", "ProxyError", "WriteError"):
        exchange = Exchange.from_dict({"request": {"url": "https://x/"}, "error": {"type": name}})
        assert exchange.error is not None
        assert issubclass(getattr(httpx, exchange.error.type), httpx.TransportError)
