"""A request as a curl command: real bash and curl send what the client would have sent."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentloop import Client
from agentloop.errors import ConfigError
from agentloop.http.curl import as_curl, curl_variables
from tests.curl.conftest import Sent

KEY = "sk-secret-0123456789"
QUOTES = ["'", '"', "\\", "$HOME", "`id`", "$(id)", "!!", "!x", "%s", "{a,b}"]
BREAKS = ["\n", "\r\n", "\t", "\0", "BODY", "\nBODY\n", "🙂", "é"]
ugly_texts = st.lists(st.sampled_from(QUOTES + BREAKS) | st.text(max_size=5), min_size=1).map("".join)


def as_sent(request: httpx.Request) -> Sent:
    headers = sorted((name.lower(), value) for name, value in request.headers.multi_items())
    return Sent(request.method, request.url.raw_path.decode(), headers, request.content)


@given(prompt=ugly_texts, stream=st.booleans())
@example(prompt='it\'s "fine"\nBODY\nBODY_2\n$HOME `id` !! \\', stream=True)
@example(prompt="lone surrogate \ud800", stream=False)
@settings(max_examples=25)
def test_bash_and_curl_send_what_the_client_sends(recording_server, paste, prompt: str, stream: bool):
    client = Client(recording_server.url, model="m", api_key=KEY, extra_headers={"X-Ugly": 'a\'b "c" $d `e` !f'})
    request = client.build_request(prompt, stream=stream)
    text = as_curl(request)
    assert KEY not in text
    assert paste(text, AGENTLOOP_API_KEY=KEY) == "{}"
    assert recording_server.sent[-1] == as_sent(request)


def test_an_interactive_bash_expands_no_history_in_it(recording_server, paste):
    client = Client(
        recording_server.url, model="m", api_key=KEY, extra_headers={"X-Token": "wow!x", "X-Note": f"!! {KEY}"}
    )
    request = client.build_request("stop!! !$ !-1")
    paste(as_curl(request), "-i", AGENTLOOP_API_KEY=KEY, X_TOKEN="wow!x")
    assert recording_server.sent[-1] == as_sent(request)


def test_a_line_that_would_end_the_body_does_not(recording_server, paste):
    request = httpx.Request("POST", recording_server.url, content=b"one\nBODY\nBODY_2\ntwo\n\n")
    paste(as_curl(request))
    assert recording_server.sent[-1].body == b"one\nBODY\nBODY_2\ntwo\n\n"


def test_a_megabyte_fits_into_the_command(recording_server, paste):
    request = Client(recording_server.url, model="m").build_request("x" * 1_000_000)
    paste(as_curl(request))
    assert recording_server.sent[-1].body == request.content


def test_a_long_body_can_stand_in_a_file(recording_server, paste, tmp_path):
    request = Client(recording_server.url, model="m").build_request("hi")
    (tmp_path / "my body.json").write_bytes(request.content)
    paste(as_curl(request, body_file="my body.json"), cwd=tmp_path)
    assert recording_server.sent[-1] == as_sent(request)


def test_keys_in_the_url_and_in_other_headers_are_variables_too(recording_server, paste):
    url = f"{recording_server.url}/v1?api_key=query-key-99&x={{1}}"
    client = Client(url, model="m", api_key=KEY, extra_headers={"OpenAI-Organization": "org-77"})
    request = client.build_request("hi")
    text = as_curl(request)
    assert not any(secret in text for secret in (KEY, "query-key-99", "org-77"))
    paste(text, AGENTLOOP_API_KEY=KEY, API_KEY="query-key-99", OPENAI_ORGANIZATION="org-77")
    assert recording_server.sent[-1] == as_sent(request)


def test_a_login_in_the_base_url_is_one_variable(recording_server, paste):
    request = Client(recording_server.url.replace("//", "//me:secret-99@"), model="m").build_request("hi")
    text = as_curl(request)
    assert "secret-99" not in text
    paste(text, USER_AND_PASSWORD="me:secret-99")
    assert recording_server.sent[-1] == as_sent(request)


@pytest.mark.parametrize(
    ("base_url", "header"),
    [
        ("https://api.deepseek.com/v1", '"Authorization: Bearer $DEEPSEEK_API_KEY"'),
        ("http://localhost:8080/v1", '"Authorization: Bearer $AGENTLOOP_API_KEY"'),
    ],
)
def test_the_key_is_the_variable_that_the_provider_is_known_for(base_url: str, header: str):
    request = Client(base_url, model="m", api_key=KEY).build_request("hi")
    assert f"-H {header}" in as_curl(request)


def test_the_variable_of_the_key_can_be_named():
    request = Client("http://localhost:8080/v1", model="m", api_key=KEY).build_request("hi")
    assert '"Authorization: Bearer $MY_KEY"' in as_curl(request, key_variable="MY_KEY")
    assert curl_variables(request, key_variable="MY_KEY") == ("MY_KEY",)


def test_a_variable_that_is_no_name_is_refused():
    with pytest.raises(ConfigError, match="key_variable is the name of a variable") as caught:
        as_curl(Client("http://h/v1", model="m").build_request("hi"), key_variable="sk-secret-99")
    assert "secret-99" not in str(caught.value)


def test_a_key_that_stands_in_another_header_is_a_variable_there_too():
    client = Client("http://localhost:8080/v1", model="m", api_key=KEY, extra_headers={"X-Note": f"use {KEY} now"})
    assert '"X-Note: use $AGENTLOOP_API_KEY now"' in as_curl(client.build_request("hi"))


def test_a_short_key_is_a_variable_in_its_own_header_only():
    client = Client("http://localhost:8080/v1", model="m", api_key="a", extra_headers={"X-Note": "a b"})
    assert as_curl(client.build_request("a")).count("$AGENTLOOP_API_KEY") == 1


def test_a_login_that_only_the_url_has_is_not_sent():
    assert "secret-99" not in as_curl(httpx.Request("GET", "http://me:secret-99@localhost/"))


def test_a_variable_before_a_letter_has_braces():
    client = Client("http://localhost:8080/v1", model="m", api_key=KEY, extra_headers={"X-Note": f"<{KEY}x>"})
    assert '"X-Note: <${AGENTLOOP_API_KEY}x>"' in as_curl(client.build_request("hi"))


def test_all_cookies_are_one_variable():
    request = httpx.Request("GET", "http://localhost/", headers={"Cookie": "a=first-99; b=second-99"})
    assert '-H "Cookie: $COOKIE"' in as_curl(request)


def test_a_key_in_the_path_is_refused():
    request = httpx.Request("GET", f"http://localhost/{KEY}", headers={"Authorization": f"Bearer {KEY}"})
    with pytest.raises(ConfigError, match="URL holds the key"):
        as_curl(request)


def test_a_body_that_holds_the_password_is_refused():
    request = Client("http://me:secret-99@localhost/v1", model="m").build_request("is secret-99 mine?")
    with pytest.raises(ConfigError, match="holds the key"):
        as_curl(request)


def test_a_body_that_holds_the_key_is_refused():
    request = Client("http://localhost:8080/v1", model="m", api_key=KEY).build_request(f"is {KEY} mine?")
    with pytest.raises(ConfigError, match="holds the key") as caught:
        as_curl(request)
    assert KEY not in str(caught.value)


def test_pretty_says_that_the_bytes_differ(recording_server, paste):
    request = Client(recording_server.url, model="m").build_request("hi")
    text = as_curl(request, pretty=True)
    assert text.startswith("# The body is indented here: its bytes are not those that the client sends.\n")
    paste(text)
    assert recording_server.sent[-1].body == (
        b'{\n  "model": "m",\n  "messages": [\n    {\n      "role": "user",\n      "content": "hi"\n    }\n  ]\n}\n'
    )


def test_a_request_without_a_body_is_a_plain_curl(recording_server, paste):
    text = as_curl(httpx.Request("GET", f"{recording_server.url}/v1/models", headers={"X-Empty": ""}))
    assert "data" not in text
    paste(text)
    assert (recording_server.sent[-1].method, recording_server.sent[-1].target) == ("GET", "/v1/models")
    assert ("x-empty", "") in recording_server.sent[-1].headers


def test_a_body_without_a_content_type_gets_none_from_curl(recording_server, paste):
    paste(as_curl(httpx.Request("PUT", recording_server.url, content=b"x")))
    assert recording_server.sent[-1].method == "PUT"
    assert "content-type" not in dict(recording_server.sent[-1].headers)


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a\0b"])
def test_a_body_that_is_no_text_needs_a_file(body: bytes):
    request = httpx.Request("POST", "http://localhost/", content=body)
    with pytest.raises(ConfigError, match="give it a file"):
        as_curl(request)
    assert "--data-binary @body.bin" in as_curl(request, body_file="body.bin")


def test_the_file_of_a_body_is_not_stdin():
    with pytest.raises(ConfigError, match="name a file"):
        as_curl(httpx.Request("POST", "http://localhost/", content=b"{}"), body_file="-")


def test_a_stream_is_shown_as_it_comes_and_a_compressed_answer_undone():
    client = Client("http://localhost/v1", model="m")
    assert as_curl(client.build_request("hi", stream=True)).partition("curl ")[2].startswith("-sS -N http")
    assert as_curl(client.build_request("hi")).partition("curl ")[2].startswith("-sS --compressed http")
