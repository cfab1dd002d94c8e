"""Cassettes from HAR files, vcrpy cassettes and curl's files."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from agentloop.errors import ConfigError
from agentloop.testing import Cassette, ReplayTransport, check, import_curl, import_har, import_vcr

SAMPLES = Path(__file__).parent / "samples"
URL = "https://api.test/v1/chat/completions"
CURL = (SAMPLES / "curl.headers.txt", SAMPLES / "curl.body")


def saved(cassette: Cassette, path: Path) -> Path:
    cassette.save(path / "x.json")
    assert check([path / "x.json"]) == []
    return path / "x.json"


def test_a_har_file_can_be_replayed(tmp_path: Path) -> None:
    with httpx.Client(transport=ReplayTransport(saved(import_har(SAMPLES / "chat.har"), tmp_path))) as client:
        answer = client.post(URL, json={"stream": True, "model": "m"})
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.text == 'data: {"n":1}\n\ndata: [DONE]\n\n'
        with pytest.raises(httpx.ConnectError, match="ERR_CONNECTION_REFUSED"):
            client.get("https://api.test/v1/models")


def test_a_vcrpy_cassette_can_be_replayed(tmp_path: Path) -> None:
    with httpx.Client(transport=ReplayTransport(saved(import_vcr(SAMPLES / "vcr.yaml"), tmp_path))) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        assert client.post(URL, json=body).json() == {"id": "chatcmpl-1"}
        slow = client.get("https://api.test/v1/models")
    assert (slow.status_code, slow.headers["retry-after"]) == (429, "2")


def test_a_vcrpy_cassette_with_parsed_bodies_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "interactions:\n"
        "- request: {method: POST, uri: 'https://x/', headers: {content-type: application/json}, parsed_body: {a: 1}}\n"
        "  response: {status: {code: 201}, headers: {content-type: [application/json]}, parsed_body: {b: [2]}}\n"
    )
    [exchange] = import_vcr(tmp_path / "x.yaml").exchanges
    assert exchange.request.content == b'{"a":1}'
    assert exchange.response is not None
    assert (exchange.response.status, exchange.response.content) == (201, b'{"b":[2]}')


def test_files_of_curl_become_an_exchange_with_one_chunk_per_event() -> None:
    cassette = import_curl(*CURL, url=URL, request_body=SAMPLES / "curl.request.json", broken="curl: (18)", note="cut")
    [form] = cassette.to_dict()["exchanges"]
    assert form == {
        "note": "cut",
        "request": {
            "method": "POST",
            "url": URL,
            "headers": {"content-type": "application/json"},
            "body": {"model": "m", "stream": True},
        },
        "response": {
            "status": 200,
            "headers": {"content-type": "text/event-stream"},
            "chunks": [{"data": {"n": 1}}, {"data": {"n": 2}}, {"text": 'data: {"n"'}],
        },
        "error": {"type": "RemoteProtocolError", "message": "curl: (18)"},
    }


def test_without_a_request_body_curl_sent_a_get() -> None:
    [exchange] = import_curl(*CURL, url=URL).exchanges
    assert (exchange.request.method, exchange.request.content, exchange.error) == ("GET", b"", None)


def test_no_key_is_imported(tmp_path: Path) -> None:
    for cassette in (import_har(SAMPLES / "chat.har"), import_vcr(SAMPLES / "vcr.yaml")):
        assert "REC-123456" not in json.dumps(cassette.to_dict())


def test_python_objects_in_yaml_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("interactions: !!python/object/apply:os.getcwd []\n")
    with pytest.raises(ConfigError, match=r"x\.yaml: is not a vcrpy cassette"):
        import_vcr(tmp_path / "x.yaml")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"log": []}', "{"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(ConfigError, match="is not a HAR file"):
        import_har(tmp_path / "x")
    with pytest.raises(ConfigError, match="is not a vcrpy cassette"):
        import_vcr(tmp_path / "x")
    with pytest.raises(ConfigError, match="does not begin with a status line"):
        import_curl(tmp_path / "x", tmp_path / "x", url=URL)


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (5, "has no list of exchanges"),
        ([{}], "exchange 1 has no 'method'"),
        ([{"request": {"method": "GET"}}], "exchange 1 has no 'ur[il]'"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(tmp_path: Path, entries: object, told: str) -> None:
    (tmp_path / "x").write_text(json.dumps({"log": {"entries": entries}, "interactions": entries}))
    for read in (import_har, import_vcr):
        with pytest.raises(ConfigError, match=told):
            read(tmp_path / "x")
