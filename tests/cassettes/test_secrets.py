"""No key enters a cassette: not by headers, URLs or bodies, and not in pieces."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.testing import Cassette, CassetteMismatch, ReplayTransport, record
from agentloop.testing.bodies import Chunk
from agentloop.testing.exchanges import Exchange, RecordedRequest, RecordedResponse
from agentloop.testing.scrubbing import scrub

KEY = "sk-REC-123456"
ODD = "correct/horse+battery=staple"  # known because the request carries it, not by its shape
URL = "https://api.test/v1/chat/completions"
SSE = {"content-type": "text/event-stream"}


def refuse(request: httpx.Request) -> httpx.Response:
    headers = {"Set-Cookie": f"sid={KEY}", "OpenAI-Organization": "org-REC", "X-Request-Id": "r1"}
    return httpx.Response(401, headers=headers, json={"error": {"message": f"Incorrect API key provided: {KEY}"}})


def recorded(path: Path, handler: object, *, url: str = URL, **request: object) -> str:
    """Record one POST, and give the text of the file."""
    with httpx.Client(transport=httpx.MockTransport(handler)) as client, record(path, client):  # pyright: ignore
        client.post(url, **request)  # pyright: ignore
    return path.read_text("utf-8")


def test_the_key_is_nowhere_in_the_folder(tmp_path: Path) -> None:
    recorded(
        tmp_path / "x.json",
        refuse,
        url=f"{URL}?key={KEY}&api_key={KEY}",
        headers={
            "Authorization": f"Bearer {KEY}",
            "x-api-KEY": KEY,
            "api-key": KEY,
            "Cookie": f"s={KEY}",
            "X-Other": base64.b64encode(KEY.encode()).decode(),
        },
        json={"messages": [{"role": "user", "content": f"my key is {KEY}"}]},
    )
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    text = (tmp_path / "x.json").read_text("utf-8")
    for form in ("REC-123456", quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), "org-REC"):
        assert form not in text


def test_the_live_request_has_the_real_key(tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.extend([request.headers["authorization"], request.url.params["key"]])
        return httpx.Response(200)

    recorded(tmp_path / "x.json", answer, url=f"{URL}?key={KEY}", headers={"Authorization": f"Bearer {KEY}"})
    assert seen == [f"Bearer {KEY}", KEY]


def test_a_replay_needs_no_key(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": f"my key is {KEY}"}]}
    recorded(tmp_path / "x.json", refuse, url=f"{URL}?key={KEY}", headers={"Authorization": f"Bearer {KEY}"}, json=body)
    with httpx.Client(transport=ReplayTransport(tmp_path / "x.json")) as client:
        answer = client.post(URL, json=body)
    assert answer.status_code == 401
    assert answer.json() == {"error": {"message": "Incorrect API key provided: ***"}}


def test_headers_are_kept_by_a_list_of_the_allowed(tmp_path: Path) -> None:
    recorded(tmp_path / "x.json", refuse, headers={"X-Mine": "a", "anthropic-version": "2023-06-01"}, json={})
    [exchange] = Cassette.load(tmp_path / "x.json").exchanges
    assert exchange.request.headers.keys() == {"accept", "content-type", "anthropic-version"}
    assert exchange.response is not None
    assert exchange.response.headers == {"content-type": "application/json", "x-request-id": "r1"}


@pytest.mark.parametrize("header", [f"Bearer {ODD}", "Basic " + base64.b64encode(f"me:{ODD}".encode()).decode()])
def test_a_key_that_the_request_carries_is_known_everywhere(tmp_path: Path, header: str) -> None:
    def echo(request: httpx.Request) -> httpx.Response:
        encoded = base64.b64encode(b"me:" + ODD.encode()).decode()
        return httpx.Response(200, json={"a": ODD, "b": quote(ODD, safe=""), "c": [{ODD: encoded}]})

    text = recorded(tmp_path / "x.json", echo, headers={"Authorization": header}, content=ODD)
    assert "horse" not in text
    assert base64.b64encode(ODD.encode()).decode()[4:-4] not in text


def test_a_key_is_taken_out_of_exchanges_that_do_not_carry_it() -> None:
    with_key = Exchange(RecordedRequest("GET", "https://x/a", {"x-api-key": ODD}), RecordedResponse())
    before = Exchange(RecordedRequest("GET", f"https://x/?q={ODD}"), RecordedResponse(), note=ODD)
    first, _ = scrub([before, with_key])
    assert first.request.url == "https://x/?q=***"
    assert first.note == "***"


def test_keys_can_be_named(tmp_path: Path) -> None:
    body = {"user": "correct horse battery"}
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200)))
    with record(tmp_path / "x.json", client, secrets=["correct horse battery"]):
        client.post(URL, json=body)
    assert "horse" not in (tmp_path / "x.json").read_text()
    with httpx.Client(transport=ReplayTransport(tmp_path / "x.json", secrets=["correct horse battery"])) as client:
        assert client.post(URL, json=body).status_code == 200


def test_a_field_that_is_named_like_a_key_is_masked(tmp_path: Path) -> None:
    def token(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"access_token": "abc", "expires_in": 3600, "max_tokens": 5})

    text = recorded(tmp_path / "x.json", token, json={"client_secret": "xyz", "scope": "all"})
    assert '"access_token": "***", "expires_in": 3600, "max_tokens": 5' in text
    assert '{"client_secret": "***", "scope": "all"}' in text


def test_a_key_in_the_user_info_of_a_url_goes(tmp_path: Path) -> None:
    text = recorded(tmp_path / "x.json", lambda _: httpx.Response(200), url=f"https://me:{ODD[:7]}42@api.test/")
    assert "correct" not in text


def test_a_key_in_an_error_message_goes(tmp_path: Path) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"no route for {KEY}")

    with pytest.raises(httpx.ConnectError, match=KEY):
        recorded(tmp_path / "x.json", fail)
    assert "REC-123456" not in (tmp_path / "x.json").read_text()


def scrubbed(*chunks: bytes, headers: dict[str, str] = SSE) -> list[bytes]:
    response = RecordedResponse(200, headers, tuple(map(Chunk, chunks)))
    [exchange] = scrub([Exchange(RecordedRequest("GET", "https://x/"), response)])
    assert exchange.response is not None
    return [chunk.data for chunk in exchange.response.chunks]


def test_a_key_that_is_split_between_chunks_goes() -> None:
    assert scrubbed(b"data: a sk-RE", b"C-123", b"456 b\n\n", b"data: c\n\n") == [
        b"data: a ***",
        b"",
        b" b\n\n",
        b"data: c\n\n",
    ]


def test_a_key_that_is_split_between_events_goes() -> None:
    events = [b'data: {"delta":{"content":"%s"}}\n\n' % piece for piece in (b"is sk-RE", b"C-12", b"3456", b" ok")]
    assert scrubbed(*events) == [
        b'data: {"delta":{"content":"is ***"}}\n\n',
        b'data: {"delta":{"content":""}}\n\n',
        b'data: {"delta":{"content":""}}\n\n',
        b'data: {"delta":{"content":" ok"}}\n\n',
    ]


def test_interleaved_calls_are_joined_by_their_own_index() -> None:
    pieces = [(0, "sk-REC"), (1, "plain"), (0, "-123456"), (1, " text")]
    events = [b'data: {"calls":[{"index":%d,"arguments":"%s"}]}\n\n' % (index, text.encode()) for index, text in pieces]
    joined = b"".join(scrubbed(*events))
    assert b"REC" not in joined
    assert b"123456" not in joined
    assert b'"plain"' in joined
    assert b'" text"' in joined


def test_a_stream_in_one_chunk_is_searched_event_by_event_too() -> None:
    whole = b'data: {"d":"sk-RE"}\n\ndata: {"d":"C-123456"}\n\n'
    assert scrubbed(whole) == [b'data: {"d":"***"}\n\ndata: {"d":""}\n\n']


def test_a_field_that_is_named_like_a_key_is_masked_in_a_stream_too() -> None:
    assert scrubbed(b'data: {"api_key":"ab","n":1}\n\n') == [b'data: {"api_key":"***","n":1}\n\n']


def test_a_clean_stream_is_left_as_it_is() -> None:
    chunks = [b'data: {"d" : "caf\xc3', b'\xa9 *** "}\n', b"\n: ping\n\n", b"data: [DONE]\n\n"]
    assert scrubbed(*chunks) == chunks


@given(text=st.text("ab é*\n", max_size=12), cuts=st.lists(st.integers(0, 40), max_size=6))
def test_no_split_lets_a_key_through(text: str, cuts: list[int]) -> None:
    content = f"data: {text} {KEY} {text}\n\n".encode()
    borders = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    chunks = [content[start:end] for start, end in pairwise(borders)]
    assert b"".join(scrubbed(*chunks)) == content.replace(KEY.encode(), b"***")


@given(cuts=st.lists(st.integers(0, 30), max_size=8), before=st.text('ab é\n"', max_size=5))
def test_no_split_into_deltas_lets_a_key_through(cuts: list[int], before: str) -> None:
    text = f"{before} {KEY} end"
    borders = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    deltas = [text[start:end] for start, end in pairwise(borders)]
    events = [f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': delta}}]})}\n\n" for delta in deltas]
    clean = b"".join(scrubbed(*(event.encode() for event in events))).decode()
    contents = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in clean.split("\n\n") if line]
    assert "".join(contents) == f"{before} *** end"


def test_a_request_is_scrubbed_before_it_is_compared(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": f"use {KEY}"}]}
    recorded(tmp_path / "x.json", lambda _: httpx.Response(200), json=body)
    other = {"messages": [{"role": "user", "content": "use sk-OTHER-987654"}]}
    with httpx.Client(transport=ReplayTransport(tmp_path / "x.json")) as client:
        assert client.post(URL, json=other).status_code == 200
        with pytest.raises(CassetteMismatch) as caught:
            client.post(URL, json=body)
    assert "is used up" in str(caught.value)


def test_ordinary_words_stay(tmp_path: Path) -> None:
    words = "A basic example for the bearer of this letter; sk-learn-contrib, task-12, and basic\nfacts."
    text = recorded(tmp_path / "x.json", lambda _: httpx.Response(200, json={"a": words}), json={"b": words})
    assert text.count("A basic example for the bearer of this letter; sk-learn-contrib, task-12") == 2
    assert "***" not in text


@pytest.mark.parametrize("text", [f"a\n{KEY}", f'{{"cmd": "x\\n{KEY}"}}', f"é{KEY}"])
def test_a_key_after_a_line_break_is_found(tmp_path: Path, text: str) -> None:
    assert "REC-123456" not in recorded(tmp_path / "x.json", lambda _: httpx.Response(200), json={"b": text})


def test_a_reply_that_cannot_be_searched_is_not_written(tmp_path: Path) -> None:
    headers = {"content-encoding": "snappy", "content-type": "application/json"}
    with pytest.raises(ConfigError, match="content-encoding 'snappy'"):
        recorded(tmp_path / "x.json", lambda _: httpx.Response(200, headers=headers, content=b"\x01\x02"))
    assert list(tmp_path.iterdir()) == []
