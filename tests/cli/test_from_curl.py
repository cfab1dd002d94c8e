"""`agentloop from-curl`: a pasted line is sent, printed as a script, or recorded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentloop.mock import MockProvider

KEY = "sk-secret-0123456789"
BODY = {"model": "m", "messages": [{"role": "user", "content": "it's 18 °C"}]}


def line(url: str, body: object = None, options: str = "") -> str:
    text = json.dumps(body or BODY).replace("'", "'\\''")
    return f"curl {url}/chat/completions -H 'Content-Type: application/json' {options} -d '{text}'"


def run_script(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_run_sends_it_and_writes_the_body_of_the_response(agentloop):
    with MockProvider("echo") as mock:
        done = agentloop("from-curl", line(mock.base_url), "--run")
    assert json.loads(done.stdout)["choices"][0]["message"]["content"] == "it's 18 °C"
    assert done.stderr == "HTTP/1.1 200 OK\n"
    assert (mock.requests[0].method, mock.requests[0].json) == ("POST", BODY)


def test_the_line_may_come_from_stdin_or_a_file(agentloop, tmp_path: Path):
    file = tmp_path / "line.txt"
    with MockProvider() as mock:
        file.write_text(line(mock.base_url))
        agentloop("from-curl", "--run", input=line(mock.base_url))
        agentloop("from-curl", "--run", "--file", str(file))
    assert [request.json for request in mock.requests] == [BODY, BODY]


def test_a_refusal_of_the_server_is_exit_code_1(agentloop):
    with MockProvider(require_key=KEY) as mock:
        done = agentloop("from-curl", line(mock.base_url), "--run")
    assert done.exit_code == 1
    assert "401" in done.stderr


def test_no_server_is_an_error_without_a_key(agentloop):
    done = agentloop("from-curl", f"curl http://127.0.0.1:9/x -H 'Authorization: Bearer {KEY}'", "--run")
    assert done.exit_code == 1
    assert "http://127.0.0.1:9/x" in done.stderr
    assert KEY not in done.stderr


def test_variables_come_from_the_environment(agentloop):
    with MockProvider(require_key=KEY) as mock:
        text = line(mock.base_url, options='-H "Authorization: Bearer $MY_KEY"')
        assert agentloop("from-curl", text, "--run", env={"MY_KEY": KEY}).exit_code == 0
        missing = agentloop("from-curl", text, "--run")
    assert missing.exit_code == 2
    assert "$MY_KEY" in missing.stderr


def test_a_login_is_sent_as_curl_sends_it(agentloop):
    with MockProvider() as mock:
        agentloop("from-curl", line(mock.base_url, options="-u me:secret-99"), "--run")
    assert mock.requests[0].headers["authorization"] == "Basic ***"


def test_cassette_records_the_exchange_without_the_key(agentloop, tmp_path: Path):
    cassette = tmp_path / "call.json"
    with MockProvider() as mock:
        text = line(mock.base_url, options=f"-H 'Authorization: Bearer {KEY}'")
        done = agentloop("from-curl", text, "--cassette", str(cassette))
    (exchange,) = json.loads(cassette.read_text())["exchanges"]
    assert done.exit_code == 0
    assert exchange["request"]["body"] == BODY
    assert exchange["response"]["status"] == 200
    assert KEY not in cassette.read_text()


def test_output_goes_to_the_file_with_consent_only(agentloop, tmp_path: Path):
    file = tmp_path / "answer.json"
    with MockProvider() as mock:
        text = line(mock.base_url, options=f"-o {file}")
        refused = agentloop("from-curl", text, "--run")
        assert (refused.exit_code, file.exists(), mock.requests) == (2, False, [])
        agentloop("from-curl", text, "--run", "--allow-write")
    assert json.loads(file.read_text())["object"] == "chat.completion"


def test_an_unknown_option_is_named_and_nothing_is_sent(agentloop):
    with MockProvider() as mock:
        done = agentloop("from-curl", line(mock.base_url, options="--retry 3"), "--run")
    assert (done.exit_code, mock.requests) == (2, [])
    assert "--retry" in done.stderr


@pytest.mark.parametrize(("content", "told"), [(None, "No such file"), (b"\xff", "not text")])
def test_a_file_that_cannot_be_read_is_named(agentloop, tmp_path: Path, content: bytes | None, told: str):
    file = tmp_path / "line.txt"
    if content:
        file.write_bytes(content)
    done = agentloop("from-curl", "--file", str(file))
    assert done.exit_code == 2
    assert f"{file}: cannot be read: " in done.stderr
    assert told in done.stderr


def test_a_line_and_a_file_at_once_are_refused(agentloop):
    assert agentloop("from-curl", "curl h", "--file", "x").exit_code == 2


# --- --python --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"temperature": 0.5, "max_tokens": 5, "user_id": "u", "seed": None},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]},
        {"stream": True, "stream_options": {"include_usage": True}},
        {"top_k": 3, "metadata": {"a": "b"}},
    ],
)
def test_the_script_sends_the_same_json_with_the_client(agentloop, more: dict):
    with MockProvider("echo") as mock:
        code = agentloop("from-curl", line(mock.base_url, BODY | more), "--python").stdout
        answer = run_script(code)
    sent = mock.requests[0].json
    assert "from agentloop import Client" in code
    assert {k: v for k, v in sent.items() if v is not None} == {k: v for k, v in (BODY | more).items() if v is not None}
    assert answer.startswith("it's")


def test_a_stream_that_does_not_ask_for_usage_gets_it_and_the_script_says_so(agentloop):
    code = agentloop("from-curl", line("http://h/v1", BODY | {"stream": True})).stdout
    assert "# The client also asks for the usage" in code
    assert "client.stream(" in code


def test_what_the_client_would_say_otherwise_is_sent_with_httpx(agentloop):
    with MockProvider() as mock:
        code = agentloop("from-curl", line(mock.base_url, BODY | {"messages": [{"role": "usr"}]})).stdout
        assert "import httpx" in code
        assert run_script(code).startswith("400 ")
    assert mock.requests[0].json == {"model": "m", "messages": [{"role": "usr"}]}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-H 'api-key: k'", 'os.environ["AGENTLOOP_API_KEY"]'),
        ("-H 'X-Token: t'", 'os.environ["X_TOKEN"]'),
        ("-k", "verify=False"),
        ("-L", "follow_redirects=True"),
        ("-u me:you", 'auth=httpx.BasicAuth(*os.environ["USER_AND_PASSWORD"].split(":", 1))'),
    ],
)
def test_what_the_client_does_not_do_by_itself_is_done_with_httpx(agentloop, options: str, expected: str):
    code = agentloop("from-curl", line("http://h/v1", options=options), "--allow-insecure").stdout
    assert "import httpx" in code
    assert expected in code


def test_a_url_that_the_client_would_write_otherwise_is_called_with_httpx(agentloop):
    assert '"http://h/v1//chat/completions"' in agentloop("from-curl", line("http://h/v1/")).stdout


def test_a_bound_is_the_bound_of_the_call(agentloop):
    assert "        seconds=2.5,\n" in agentloop("from-curl", line("http://h/v1", options="-m 2.5")).stdout


def test_a_url_that_begins_with_a_variable_keeps_it(agentloop):
    done = agentloop("from-curl", line("$BASE_URL", options='-H "Authorization: Bearer $API_KEY"'))
    assert 'Client(os.environ["BASE_URL"], model="m", api_key=os.environ["API_KEY"])' in done.stdout


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_variable_may_name_the_server_with_or_without_its_scheme(agentloop, scheme: str):
    with MockProvider() as mock:
        server = scheme + mock.base_url.removeprefix("http://")
        agentloop("from-curl", "curl $BASE_URL/models", "--run", env={"BASE_URL": server})
    assert [(request.method, request.path) for request in mock.requests] == [("GET", "/v1/models")]


def test_no_stream_is_no_stream_for_the_client(agentloop):
    assert "client.respond(" in agentloop("from-curl", line("http://h/v1", BODY | {"stream": False})).stdout


@pytest.mark.parametrize("path", ["responses", "messages"])
def test_other_endpoints_are_called_with_httpx(agentloop, path: str):
    code = agentloop("from-curl", f'curl http://h/v1/{path} --json \'{{"model": "m"}}\'').stdout
    assert f'"http://h/v1/{path}"' in code
    assert 'json={"model": "m"}' in code


@pytest.mark.parametrize("url", ["https://api.deepseek.com", "http://h/v1"])
def test_a_pasted_key_becomes_a_variable(agentloop, url: str):
    name = "DEEPSEEK_API_KEY" if "deepseek" in url else "AGENTLOOP_API_KEY"
    done = agentloop("from-curl", line(url, options=f"-H 'Authorization: Bearer {KEY}'"))
    assert f'api_key=os.environ["{name}"]' in done.stdout
    assert KEY not in done.output


def test_keys_in_the_url_the_login_and_cookies_become_variables(agentloop):
    text = "curl 'http://h/x?api_key=query-key-99&n=1' -u me:secret-99 -b 'a=cookie-88; b=cookie-99'"
    code = agentloop("from-curl", text).stdout
    assert not any(secret in code for secret in ("query-key-99", "secret-99", "cookie-88", "cookie-99"))
    assert 'os.environ["AGENTLOOP_API_KEY"] + "&n=1"' in code
    assert 'os.environ["COOKIE"]' in code
    assert 'os.environ["USER_AND_PASSWORD"]' in code


@pytest.mark.parametrize("cookies", ["a=cookie-88; b=$B", "$B; a=cookie-88"])
def test_a_secret_beside_a_variable_is_hidden_too(agentloop, cookies: str):
    code = agentloop("from-curl", f'curl http://h -b "{cookies}="').stdout
    assert '("Cookie", os.environ["COOKIE"])' in code


@pytest.mark.parametrize("place", ["<your API key>", "YOUR KEY", "$KEY"])
def test_a_place_for_a_key_becomes_a_variable_behind_its_scheme(agentloop, place: str):
    done = agentloop("from-curl", f"curl http://h -H 'Authorization: Bearer {place}'")
    assert '("Authorization", "Bearer " + os.environ["AGENTLOOP_API_KEY"])' in done.stdout
    assert done.stderr == "set AGENTLOOP_API_KEY before you run it\n"


def test_two_keys_have_two_variables(agentloop):
    code = agentloop("from-curl", "curl 'http://h?key=one' -H 'X-Api-Key: two' -H 'Authorization: two'").stdout
    names = re.findall(r'os\.environ\["(\w+)"\]', code)
    assert names == ["AGENTLOOP_API_KEY_2", "AGENTLOOP_API_KEY", "AGENTLOOP_API_KEY"]


def test_the_script_takes_the_key_from_the_environment(agentloop):
    with MockProvider("echo", require_key=KEY) as mock:
        text = line(mock.base_url, options=f"-H 'Authorization: Bearer {KEY}'")
        assert run_script(agentloop("from-curl", text).stdout, AGENTLOOP_API_KEY=KEY) == "it's 18 °C\n"


def test_a_body_that_holds_the_key_is_refused(agentloop):
    text = line("http://h/v1", BODY | {"user": KEY}, f"-H 'Authorization: Bearer {KEY}'")
    done = agentloop("from-curl", text)
    assert done.exit_code == 2
    assert KEY not in done.output


@pytest.mark.parametrize(
    "body",
    ['{"user": "sk-0123456789abc"}', '{"api_key": "zzzzzzzz"}', "n=1&password=zzzzzzzz", '{"a": "https://me:you@h"}'],
)
def test_what_looks_like_a_key_in_the_body_is_refused(agentloop, body: str):
    done = agentloop("from-curl", f"curl http://h -d '{body}'")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "looks like a key" in done.stderr


@pytest.mark.parametrize("body", ['{"password": {"type": "string"}}', '{"prompt_cache_key": "user-12345678"}'])
def test_a_field_that_only_sounds_like_a_key_is_shown(agentloop, body: str):
    assert f"json={body}" in agentloop("from-curl", f"curl http://h --json '{body}'").stdout


def test_what_the_script_leaves_out_is_said(agentloop):
    done = agentloop("from-curl", "curl h -o file | jq .", "--allow-write")
    assert done.stderr == "left out, since it is no part of the call: jq .\nleft out of the script: -o file\n"
