"""Keys: how they are read, and that they show nowhere."""

from __future__ import annotations

import base64
import logging
import pickle
import traceback
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import AgentLoopError, ConfigError, ServerError
from agentloop.http.client import Client
from agentloop.http.secrets import Secret, read_key, redact_headers, redact_text, redact_url
from tests.http.peers import OK, Answers, Driver, Peer, error

KEY = "sk-SECRET-0123456789abcdef"
FORMS = ["SECRET", base64.b64encode(KEY.encode()).decode()[:20], "U0VDUkVU"]


@pytest.mark.parametrize(("given", "key"), [("sk-test-123\n", "sk-test-123"), (" sk-test-123\t", "sk-test-123")])
def test_white_space_around_a_key_is_taken_off(given: str, key: str) -> None:
    found = read_key(given)
    assert found is not None
    assert found.reveal() == key


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("sk-te\u028bst", r"character 6 of the key is not ASCII \(U\+028B\)"),
        ("sk-test\u200b", r"character 8 of the key is not ASCII \(U\+200B\)"),
        ("sk\r\nX-Evil: 1", r"character 3 of the key is a blank or line break \(U\+000D\)"),
        ("sk-\x07test", r"character 4 of the key is a control character \(U\+0007\)"),
    ],
)
def test_a_key_with_a_strange_character_is_refused_by_position_and_not_shown(given: str, told: str) -> None:
    with pytest.raises(ConfigError, match=f"MY_KEY: {told}") as caught:
        read_key(given, setting="MY_KEY")
    assert "te" not in str(caught.value).replace("character", "").replace("printable", "")


@pytest.mark.parametrize("given", ["", "  \n", None])
def test_without_a_key_no_authorization_is_sent(given: str | None) -> None:
    client = Client("http://localhost:8080/v1", model="m", api_key=given, transport=Answers())
    assert "authorization" not in client.build_request("hi").headers


def test_a_provider_that_needs_a_key_says_so_before_anything_is_sent() -> None:
    with (
        Client("https://api.deepseek.com", model="m") as client,
        pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"),
    ):
        client.respond("hi")


@pytest.mark.parametrize("given", ["", " \n"])
def test_an_empty_key_is_refused_at_once_where_one_is_needed(given: str) -> None:
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        Client("https://api.deepseek.com", model="m", api_key=given, transport=Answers())


def test_a_transport_of_ones_own_needs_no_key() -> None:
    replay = httpx.MockTransport(lambda request: httpx.Response(500, json={}, headers={"x-should-retry": "false"}))
    with Client("https://api.deepseek.com", model="m", transport=replay) as client, pytest.raises(ServerError):
        client.respond("hi")


def test_a_secret_does_not_print_and_is_not_pickled() -> None:
    secret = Secret(KEY)
    assert "SECRET" not in f"{secret} {secret!r} {[secret]} {secret:}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@given(st.text(max_size=7), st.text(max_size=7))
def test_a_known_key_is_found_in_base64_wherever_it_begins(before: str, after: str) -> None:
    encoded = base64.b64encode(f"{before}{KEY}{after}".encode("utf-8", "replace")).decode()
    assert base64.b64encode(KEY.encode()).decode()[4:28] not in redact_text(encoded, [KEY])
    assert "***" in redact_text(encoded, [KEY])


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Incorrect API key provided: sk-proj-ab1***********cd2.", "Incorrect API key provided: ***"),
        ("Authorization: Bearer abc.def-gh1", "Authorization: Bearer ***"),
        ("the bearer of news", "the bearer of news"),
        ("http://user:hunter2@host/v1", "http://***@host/v1"),
        ("GET /v1?key=abc&api-version=2024-10-21", "GET /v1?key=***&api-version=2024-10-21"),
        ("pip install sk-learn-contrib", "pip install sk-learn-contrib"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "***"),
        ("id AKIAIOSFODNN7EXAMPLE, not AKIAIOS", "id ***, not AKIAIOS"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a xoxb-1234567890-abc", "*** ***"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEv\n-----END RSA PRIVATE KEY-----\nend", "***\nend"),
    ],
)
def test_what_is_shaped_like_a_key_is_taken_out(text: str, redacted: str) -> None:
    assert redact_text(text) == redacted


@pytest.mark.parametrize("encoded", ["pass%2Bword%2F42", "pass%2bword%2f42"])
def test_a_known_key_is_found_in_percent_escapes_of_either_case(encoded: str) -> None:
    assert redact_text(f"x={encoded}!", ["pass+word/42"]) == "x=***!"


def test_a_short_dummy_key_does_not_wreck_texts() -> None:
    assert redact_text("the box is EMPTY", ["EMPTY"]) == "the box is EMPTY"


def test_headers_named_like_keys_are_masked_in_order_and_others_kept() -> None:
    headers = [
        ("x-api-KEY", "a"),
        ("Set-Cookie", "s=1"),
        ("x-ratelimit-remaining-tokens", "9"),
        ("Authorization", "Basic Zm9v"),
    ]
    assert redact_headers(headers) == [
        ("x-api-KEY", "***"),
        ("Set-Cookie", "***"),
        ("x-ratelimit-remaining-tokens", "9"),
        ("Authorization", "Basic ***"),
    ]


def test_an_url_keeps_host_path_and_harmless_parameters() -> None:
    url = httpx.URL("https://u:p@host:8443/v1/x?api_key=abc&api-version=3")
    assert redact_url(url) == "https://***@host:8443/v1/x?api_key=***&api-version=3"


# --- every surface ---------------------------------------------------------------------------------------------------


def surfaces(failed: AgentLoopError) -> str:
    """All that a program may print of an error, its causes and contexts included."""
    found = [str(failed), repr(failed), "".join(traceback.format_exception(failed)), str(vars(failed))]
    found.append(str(pickle.loads(pickle.dumps(failed)).__dict__))
    chained: BaseException | None = failed
    while chained is not None:
        found += [repr(chained), str(vars(chained)), repr(getattr(chained, "_request", None))]
        chained = chained.__cause__ or chained.__context__
    return "\n".join(found)


WHERES: list[dict[str, Any]] = [
    {"api_key": KEY},
    {"base_url": f"http://127.0.0.1:9/v1?key={KEY}"},
    {"base_url": f"http://user:{KEY}@127.0.0.1:9/v1"},
    {"base_url": f"http://{KEY}@127.0.0.1:9/v1"},
    {"extra_headers": {"X-Api-Key": KEY}},
    {"extra_headers": {"Authorization": f"Token {KEY}"}},
]
ANSWERS = {
    "refused key": lambda: error(401, {"message": f"Incorrect API key provided: {KEY}."}, x_request_id=KEY),
    "no connection": lambda: httpx.ConnectError(
        f"cannot reach ?key={KEY}", request=httpx.Request("POST", f"http://x/{KEY}")
    ),
    "web page": lambda: httpx.Response(404, content=f"<html><body>{KEY} not found</body></html>"),
    "redirect": lambda: httpx.Response(302, headers={"location": f"http://other/?key={KEY}"}),
    "not JSON": lambda: httpx.Response(200, content=f'{{"choices": {KEY}'),
    "page as 200": lambda: httpx.Response(200, content=f"<html>{KEY}"),
    "error as 200": lambda: httpx.Response(200, json={"error": {"message": KEY, "code": KEY, "type": KEY}}),
}


@pytest.mark.parametrize("where", WHERES, ids=lambda where: "-".join(where))
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_the_key_is_in_no_error_and_no_log(
    driver: Driver, where: dict[str, Any], answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(AgentLoopError) as caught:
        driver.respond(Answers(answer()), retry=None, **where)
    shown = surfaces(caught.value) + caplog.text
    assert not [form for form in FORMS if form in shown]
    assert caught.value.attempts


@pytest.mark.parametrize("where", WHERES, ids=lambda where: "-".join(where))
def test_the_key_is_in_no_repr_of_the_client(where: dict[str, Any]) -> None:
    with Client(**{"base_url": "http://127.0.0.1:9/v1", "model": "m", **where}) as client:
        shown = f"{client!r} {vars(client)} {vars(client._driver)} {client.base_url} {client.provider}"
    assert "SECRET" not in shown


def test_the_key_is_in_no_log_of_the_libraries_below(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def script(peer: Peer) -> None:
        assert KEY.encode() in peer.read_request()
        peer.answer(OK)

    with Client(serve(script).base_url + f"?key={KEY}", model="m", api_key=KEY) as client:
        client.respond("hi")
    assert "httpcore" in caplog.text
    assert "POST http://127.0.0.1" in caplog.text
    assert "SECRET" not in caplog.text


def test_a_header_of_one_call_is_redacted_too() -> None:
    client = Client("http://model.test/v1", model="m", transport=Answers(error(401, {"message": f"bad {KEY}x"})))
    with pytest.raises(AgentLoopError) as caught:
        client.respond("hi", extra_headers={"x-api-key": KEY + "x"})
    assert "SECRET" not in surfaces(caught.value)


def test_a_header_value_that_cannot_be_sent_is_named_and_not_shown() -> None:
    with pytest.raises(ConfigError, match="'X-Api-Key'") as caught:
        Client("http://model.test/v1", model="m", extra_headers={"X-Api-Key": f"{KEY}\u200b"})
    assert "SECRET" not in str(caught.value)
