"""`mock`, `policy check`, `replay` and `cassette check`."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=20) as client:
        yield client


def test_mock_prints_its_address_and_a_curl_line_and_serves_until_ctrl_c(start, client: httpx.Client):
    process = start("mock", "--scenario", "echo")
    base_url = process.stdout.readline().removeprefix("base URL: ").strip()
    curl = shlex.split(process.stdout.readline())
    assert curl[:3] == ["curl", "-s", f"{base_url}/chat/completions"]
    reply = client.post(curl[2], headers=dict([curl[4].split(": ")]), content=curl[6]).json()
    assert reply["choices"][0]["message"]["content"] == "hi"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert process.stderr.read() == "POST /v1/chat/completions\n"


def test_mock_can_require_a_key_and_fail_on_purpose(start, client: httpx.Client):
    process = start("mock", "--require-key", "let-me-in", "--fault", "status=429,retry-after=1;then=ok")
    base_url = process.stdout.readline().removeprefix("base URL: ").strip()
    assert 'Authorization: Bearer $KEY"' in process.stdout.readline()
    url, headers = f"{base_url}/chat/completions", {"authorization": "Bearer let-me-in"}
    refused = client.post(url, json=ASK, headers=headers)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert client.post(url, json=ASK, headers=headers).status_code == 200
    assert client.post(url, json=ASK).status_code == 401


@pytest.mark.parametrize(
    ("option", "value", "told"), [("--fault", "quake", "unknown fault"), ("--scenario", "none.json", "no scenario")]
)
def test_mock_refuses_what_it_does_not_know(agentloop, option: str, value: str, told: str):
    done = agentloop("mock", option, value)
    assert done.exit_code == 2
    assert told in done.stderr


@pytest.fixture
def policy(tmp_path: Path) -> str:
    file = tmp_path / "policy.toml"
    file.write_text(
        """
        [[rule]]
        decide = "deny"
        tool = "delete_*"
        arguments = "/etc"
        reason = "not there"

        [[rule]]
        decide = "allow"
        risk = "read"
        """
    )
    return str(file)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["delete_file", '{"path": "/etc/passwd"}'], "deny (not there): rule 1"),
        (["look", "--risk", "read"], "allow: rule 2"),
        (["look"], "ask: no rule matches, so the default holds"),
        ([], "2 rules, default ask"),
    ],
)
def test_policy_check_says_which_rule_decides(agentloop, policy: str, call: list[str], said: str):
    done = agentloop("policy", "check", policy, *call)
    assert done.exit_code == 0
    assert said in done.stdout


def test_policy_check_refuses_a_bad_file_and_bad_arguments(agentloop, policy: str, tmp_path: Path):
    (tmp_path / "bad.toml").write_text('defaults = "ask"')
    assert agentloop("policy", "check", str(tmp_path / "bad.toml")).exit_code == 2
    assert agentloop("policy", "check", policy, "look", "[1]").exit_code == 2


@pytest.fixture
def recorded(agentloop, tmp_path: Path) -> Path:
    file = tmp_path / "hi.json"
    agentloop("run", "hi", "--mock", "--record", str(file))
    return file


def test_replay_serves_what_was_recorded_until_ctrl_c(start, client: httpx.Client, recorded: Path):
    process = start("replay", str(recorded), "--serve")
    url = next(word for word in process.stdout.readline().split() if word.startswith("http")).rstrip(";")
    exchange = json.loads(recorded.read_text("utf-8"))["exchanges"][0]
    reply = client.post(f"{url}/v1/chat/completions", json=exchange["request"]["body"])
    assert reply.json()["choices"][0]["message"]["content"].startswith("Hello!")
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


def test_cassette_check_passes_what_holds_no_keys(agentloop, recorded: Path):
    done = agentloop("cassette", "check", str(recorded))
    assert (done.exit_code, done.stdout) == (0, "no keys found\n")


def test_cassette_check_names_the_place_of_a_key_and_not_the_key(agentloop, recorded: Path):
    key = "sk-1234567890abcdef1234567890"
    recorded.write_text(recorded.read_text("utf-8").replace("Hello!", key), "utf-8")
    done = agentloop("cassette", "check", str(recorded))
    assert done.exit_code == 1
    assert str(recorded) in done.stdout
    assert key not in done.output


def test_cassette_check_of_a_missing_file_is_wrong_usage(agentloop):
    assert agentloop("cassette", "check", "nowhere.json").exit_code == 2
