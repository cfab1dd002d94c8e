"""`agentloop curl` and `--show-requests=curl`: requests as commands for bash."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agentloop.mock import MockProvider

SERVER = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
KEY = "sk-secret-0123456789"
with_curl = pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="needs bash and curl")


def body_of(command: str) -> dict:
    return json.loads(re.search(r"@-\n(.*)\nBODY\n$", command, re.DOTALL)[1])


def bash(text: str, **variables: str) -> str:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **variables}
    return subprocess.run(["bash"], input=text, capture_output=True, text=True, check=True, env=environment).stdout


@with_curl
def test_the_output_of_curl_can_be_piped_into_bash(agentloop):
    with MockProvider("echo") as mock:
        done = agentloop("curl", 'it\'s "fine"', "--base-url", mock.base_url, "--model", "m")
        answer = json.loads(bash(done.stdout))
    assert answer["choices"][0]["message"]["content"] == 'it\'s "fine"'


@with_curl
def test_it_is_the_first_request_of_a_run_byte_by_byte(agentloop):
    options = ("--system", "Be brief.", "--demo-tools", "--stream")
    with MockProvider() as mock:
        agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", *options)
        bash(agentloop("curl", "hi", "--base-url", mock.base_url, "--model", "m", *options).stdout)
    ours, curls = mock.requests
    assert (ours.path, ours.headers, ours.body) == (curls.path, curls.headers, curls.body)


def test_nothing_is_sent(agentloop):
    with MockProvider() as mock:
        done = agentloop("curl", "hi", "--base-url", mock.base_url, "--model", "m")
    assert done.exit_code == 0
    assert mock.requests == []


def test_a_loaded_conversation_is_in_the_request(agentloop, tmp_path: Path):
    saved = tmp_path / "talk.json"
    saved.write_text('[{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]')
    body = body_of(agentloop("curl", "three", *SERVER, "--load", str(saved)).stdout)
    assert [message["content"] for message in body["messages"]] == ["one", "two", "three"]


def test_the_key_is_the_variable_that_was_named(agentloop):
    done = agentloop("curl", "hi", *SERVER, "--key-env", "MY_KEY", env={"MY_KEY": KEY})
    assert KEY not in done.output
    assert '-H "Authorization: Bearer $MY_KEY"' in done.stdout
    assert done.stderr == ""


def test_the_key_of_a_server_named_by_the_environment_is_its_variable(agentloop):
    variables = {"AGENTLOOP_BASE_URL": "https://api.deepseek.com/v1", "AGENTLOOP_MODEL": "m", "AGENTLOOP_API_KEY": KEY}
    assert '"Authorization: Bearer $AGENTLOOP_API_KEY"' in agentloop("curl", "hi", env=variables).stdout


def test_the_key_of_a_named_provider_is_its_variable(agentloop):
    done = agentloop("curl", "hi", "--provider", "deepseek", "--model", "m", env={"DEEPSEEK_API_KEY": KEY})
    assert '"Authorization: Bearer $DEEPSEEK_API_KEY"' in done.stdout


@pytest.mark.parametrize(
    ("server", "name"),
    [
        (("--provider", "deepseek", "--model", "m"), "DEEPSEEK_API_KEY"),
        (("--base-url", "http://h/v1", "--model", "m", "--key-env", "MY_KEY"), "MY_KEY"),
    ],
)
def test_a_key_that_is_not_set_is_not_needed_yet(agentloop, server: tuple[str, ...], name: str):
    done = agentloop("curl", "hi", *server)
    assert f'-H "Authorization: Bearer ${name}"' in done.stdout
    assert done.stderr == f"set {name} before you run it\n"


def test_a_model_that_is_not_named_is_asked_for_also_without_a_key(agentloop):
    done = agentloop("curl", "hi", "--provider", "openai")
    assert done.exit_code == 2
    assert "no model for openai" in done.stderr


def test_a_variable_that_is_not_set_is_named_on_stderr(agentloop):
    done = agentloop("curl", "hi", "--base-url", "http://h/v1?token=abcdefgh-1234", "--model", "m")
    assert done.stderr == "set TOKEN before you run it\n"


def test_a_body_in_a_file_is_written_there(agentloop, tmp_path: Path):
    file = tmp_path / "body.json"
    done = agentloop("curl", "hi", *SERVER, "--body-file", str(file))
    assert file.read_text() == '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    assert done.stdout.endswith(f"--data-binary @{file}\n")


def test_pretty_indents_and_says_so(agentloop):
    done = agentloop("curl", "hi", *SERVER, "--pretty")
    assert done.stdout.startswith("# The body is indented here")
    assert '\n      "content": "hi"\n' in done.stdout


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--mock",), "start 'agentloop mock'"),
        ((*SERVER, "--pretty", "--body-file", "x"), "leave out one of"),
        (("--base-url", "http://127.0.0.1:9/v1"), "needs --model"),
    ],
)
def test_what_cannot_be_meant_is_refused(agentloop, options: tuple[str, ...], what: str):
    done = agentloop("curl", "hi", *options)
    assert done.exit_code == 2
    assert what in done.stderr


def test_text_that_would_steer_a_terminal_is_not_written_to_one(terminal):
    screen = terminal("curl", "a\u202eb", *SERVER)
    screen.wait_for("characters that steer a terminal")
    assert screen.end() == 2
    assert "\u202e" not in screen.shown


# --- --show-requests=curl --------------------------------------------------------------------------------------------


@with_curl
def test_show_requests_curl_shows_each_request_as_a_command(agentloop):
    with MockProvider() as mock:
        server = ("--base-url", mock.base_url, "--model", "m", "--demo-tools")
        done = agentloop("run", "--show-requests=curl", "Weather in Tokyo?", *server)
        commands = re.findall(r"^head -c .*?^BODY$", done.stderr, re.MULTILINE | re.DOTALL)
        for command in commands:
            bash(command + "\n")
    ran, pasted = mock.requests[:2], mock.requests[2:]
    assert [request.body for request in pasted] == [request.body for request in ran]


def test_the_flag_alone_does_not_take_the_prompt(agentloop):
    with MockProvider() as mock:
        done = agentloop("run", "--show-requests", "hi", "--base-url", mock.base_url, "--model", "m")
    assert "POST http" in done.stderr
    assert mock.requests[0].json["messages"][0]["content"] == "hi"


def test_a_prompt_that_looks_like_the_flag_stays_a_prompt(agentloop):
    with MockProvider("echo") as mock:
        done = agentloop("run", "--base-url", mock.base_url, "--model", "m", "--", "--show-requests=curl")
    assert done.stdout == "--show-requests=curl\n"


def test_another_form_is_refused(agentloop):
    done = agentloop("run", "hi", "--mock", "--show-requests=xml")
    assert done.exit_code == 2
    assert "--show-requests=xml: write --show-requests, or --show-requests=curl" in done.stderr


def test_a_request_that_holds_the_key_is_not_shown_as_curl(agentloop):
    with MockProvider() as mock:
        server = ("--base-url", mock.base_url, "--model", "m", "--key-env", "MY_KEY")
        done = agentloop("run", f"is {KEY} mine?", *server, "--show-requests=curl", env={"MY_KEY": KEY})
    assert KEY not in done.output
    assert "not shown as curl: the body holds the key" in done.stderr
