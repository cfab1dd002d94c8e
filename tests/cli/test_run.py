"""`agentloop run`: what stands on stdout, what on stderr, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentloop.mock import Call, MockProvider, Question, Reply

QUESTION = "What is the weather in Tokyo, in Fahrenheit?"


def test_the_answer_goes_to_stdout_and_the_trajectory_to_stderr(agentloop):
    done = agentloop("run", QUESTION, "--mock", "--demo-tools")
    assert done.exit_code == 0
    assert done.stdout == "In Tokyo it is 64.4 °F (18.0 °C) and cloudy.\n"
    assert done.stderr.splitlines()[0].startswith("mock (a rule-driven stand-in")
    assert done.stderr.splitlines()[1:] == [
        "step 1",
        '  call_1 get_weather({"city": "Tokyo"})',
        '  call_1 -> {"city":"Tokyo","celsius":18.0,"sky":"cloudy"}',
        "step 2",
        '  call_2 convert_temperature({"value": 18.0, "from_unit": "celsius", "to_unit": "fahrenheit"})',
        '  call_2 -> {"value":64.4,"unit":"fahrenheit"}',
        "step 3",
        done.stderr.splitlines()[-1],
    ]
    assert done.stderr.splitlines()[-1].startswith("answered: 3 steps, ")


def test_json_is_one_object_with_messages_in_chat_form(agentloop):
    done = agentloop("run", QUESTION, "--mock", "--demo-tools", "--json")
    report = json.loads(done.stdout)
    assert [report["status"], report["steps"]] == ["answered", 3]
    assert report["text"] == "In Tokyo it is 64.4 °F (18.0 °C) and cloudy."
    assert "rule-driven stand-in" in report["provider"]
    assert [m["role"] for m in report["messages"]] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [m["tool_call_id"] for m in report["messages"] if m["role"] == "tool"] == ["call_1", "call_2"]
    assert report["messages"][1]["tool_calls"][0]["function"]["name"] == "get_weather"
    assert report["usage"]["requests"] == 3
    assert "error" not in report


def test_json_of_a_run_that_did_not_answer_has_an_error(agentloop):
    with MockProvider(faults="then=status=503") as mock:
        done = agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--retries", "0", "--json")
    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert report["status"] == "model_error"
    assert report["error"]["type"] == "ServerError"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ([], "ConfigError"),
        (["--mock", "--tool", "nothing"], "ConfigError"),
        (["--mock", "--provider", "deepseek"], "UsageError"),
        (["--mock", "--max-steps", "0"], "BadParameter"),
        (["--mock", "--no-such-option"], "NoSuchOption"),
    ],
)
def test_json_of_a_wrong_configuration_is_an_object_with_the_error(agentloop, arguments: list[str], kind: str):
    done = agentloop("run", "hi", *arguments, "--json")
    assert done.exit_code == 2
    assert [json.loads(done.stdout)["status"], json.loads(done.stdout)["error"]["type"]] == ["error", kind]


def test_json_is_one_object_also_when_the_conversation_cannot_be_saved(agentloop, tmp_path: Path):
    done = agentloop("run", "hi", "--mock", "--json", "--save", str(tmp_path / "missing" / "talk.json"))
    assert done.exit_code == 1
    assert json.loads(done.stdout)["status"] == "answered"


@pytest.mark.parametrize(
    ("wire", "path"), [("chat", "/chat/completions"), ("responses", "/responses"), ("anthropic", "/messages")]
)
def test_each_wire_gives_the_same_answer(agentloop, wire: str, path: str):
    done = agentloop("run", QUESTION, "--mock", "--demo-tools", "--wire", wire, "--show-requests")
    assert done.stdout == "In Tokyo it is 64.4 °F (18.0 °C) and cloudy.\n"
    assert f"/v1{path}\n" in done.stderr


def test_a_server_by_its_address_is_asked_on_the_wire_that_is_named(agentloop):
    with MockProvider() as mock:
        agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--wire", "responses")
    assert mock.requests[0].path == "/v1/responses"


@pytest.mark.parametrize("option", ["--stream", "--no-stream"])
def test_streamed_or_not_the_answer_is_the_same(agentloop, option: str):
    done = agentloop("run", QUESTION, "--mock", "--demo-tools", option)
    assert done.stdout == "In Tokyo it is 64.4 °F (18.0 °C) and cloudy.\n"


def talks_and_calls(question: Question) -> Reply:
    if question.turns[-1].role == "tool":
        return Reply("It is 18.")
    return Reply("Let me look.", calls=(Call.of("get_weather", city="Tokyo"),))


def test_with_stream_all_text_of_the_model_is_on_stdout(agentloop):
    with MockProvider(talks_and_calls) as mock:
        done = agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--demo-tools", "--stream")
    assert done.stdout == "Let me look.\nIt is 18.\n"
    assert "says" not in done.stderr


def test_without_stream_only_the_answer_is_on_stdout(agentloop):
    with MockProvider(talks_and_calls) as mock:
        done = agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--demo-tools", "--no-stream")
    assert done.stdout == "It is 18.\n"
    assert "  says: Let me look.\n" in done.stderr


def test_the_prompt_may_come_from_stdin(agentloop):
    assert agentloop("run", "-", "--mock", input="weather in Oslo?").exit_code == 0
    assert agentloop("run", "-", "--mock", input=" \n").exit_code == 2


def test_a_limit_is_exit_code_1_and_named_on_stderr(agentloop):
    done = agentloop("run", QUESTION, "--mock", "--demo-tools", "--max-steps", "1")
    assert done.exit_code == 1
    assert "step_limit: 1 step" in done.stderr
    assert "--max-steps" in done.stderr


def test_no_tool_steps_runs_no_tool(agentloop):
    done = agentloop("run", QUESTION, "--mock", "--demo-tools", "--max-tool-steps", "0")
    assert done.exit_code == 1
    assert "tool_limit" in done.stderr
    assert "->" not in done.stderr


def test_without_a_provider_the_variables_and_the_stand_in_are_named(agentloop):
    done = agentloop("run", "hi")
    assert done.exit_code == 2
    for name in ("AGENTLOOP_BASE_URL", "AGENTLOOP_MODEL", "DEEPSEEK_API_KEY", "--mock"):
        assert name in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--mock", "--provider", "deepseek"], "leave out --provider"),
        (["--base-url", "http://127.0.0.1:1/v1"], "needs --model"),
        (["--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--key-env", "NO_SUCH"], "NO_SUCH"),
        (["--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--key-env", "sk-1"], "not the key itself"),
        (["--provider", "nobody"], "unknown provider"),
        (["--mock", "--max-steps", "0"], "--max-steps"),
        (["--mock", "--policy", "missing.toml"], "missing.toml"),
        (["--mock", "--load", "missing.json"], "missing.json"),
        (["--mock", "--tool", "nothing"], "MODULE:NAME"),
    ],
)
def test_wrong_options_are_exit_code_2_and_one_line_says_what_is_wrong(agentloop, arguments: list[str], told: str):
    done = agentloop("run", "hi", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_base_url_given_by_hand_gets_no_key_unless_one_is_named(agentloop):
    key = "sk-1234567890abcdef1234"
    env = {"OPENAI_API_KEY": key, "AGENTLOOP_API_KEY": key, "MY_KEY": key}
    with MockProvider(require_key=key) as mock:
        server = ("--base-url", mock.base_url, "--model", "m")
        assert "401" in agentloop("run", "hi", *server, env=env).stderr
        assert agentloop("run", "hi", *server, "--key-env", "MY_KEY", env=env).exit_code == 0


def test_requests_are_shown_without_the_key(agentloop):
    key = "sk-1234567890abcdef1234"
    with MockProvider(require_key=key) as mock:
        server = ("--base-url", mock.base_url, "--model", "m", "--key-env", "MY_KEY")
        done = agentloop("run", f"is {key} mine?", *server, "--show-requests", "--verbose", env={"MY_KEY": key})
        assert f"POST {mock.base_url}/chat/completions" in done.stderr
    assert "authorization: Bearer ***" in done.stderr
    assert '"model": "m"' in done.stderr
    assert key not in done.stderr


def test_each_retry_is_shown(agentloop):
    with MockProvider(faults="status=429,retry-after-ms=1;then=ok") as mock:
        done = agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m")
    assert done.exit_code == 0
    assert "  attempt 1 failed: " in done.stderr
    assert "429" in done.stderr


def test_a_saved_conversation_can_be_gone_on_from(agentloop, tmp_path: Path):
    saved = str(tmp_path / "talk.json")
    agentloop("run", QUESTION, "--mock", "--demo-tools", "--save", saved)
    done = agentloop("run", "weather in Oslo?", "--mock", "--demo-tools", "--load", saved, "--json")
    assert [m["content"] for m in json.loads(done.stdout)["messages"] if m["role"] == "user"] == [
        QUESTION,
        "weather in Oslo?",
    ]


def test_the_output_of_json_can_be_gone_on_from(agentloop, tmp_path: Path):
    saved = tmp_path / "run.json"
    saved.write_text(agentloop("run", "hi", "--mock", "--json").stdout, "utf-8")
    done = agentloop("run", "again", "--mock", "--load", str(saved), "--json")
    assert len(json.loads(done.stdout)["messages"]) == 4


def test_exchanges_are_recorded(agentloop, tmp_path: Path):
    agentloop("run", "hi", "--mock", "--record", str(tmp_path / "x.json"))
    cassette = json.loads((tmp_path / "x.json").read_text("utf-8"))
    assert len(cassette["exchanges"]) == 1


def test_instructions_head_the_requests(agentloop):
    with MockProvider() as mock:
        agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--system", "be brief")
    assert mock.requests[0].json["messages"][0] == {"role": "system", "content": "be brief"}


def test_a_whole_run_is_bounded_by_the_timeout(agentloop):
    with MockProvider(faults="then=stall=first-byte") as mock:
        done = agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--timeout", "0.05")
    assert done.exit_code == 1
    assert "time_limit" in done.stderr


def test_step_shows_what_comes_next_and_waits(agentloop):
    done = agentloop("run", "weather in Oslo?", "--mock", "--demo-tools", "--step", input="\n\n\n")
    assert done.exit_code == 0
    assert "  sends user: weather in Oslo?" in done.stderr
    assert "next: ask the model (1 messages, 2 tools)" in done.stderr
    assert 'next: run call_1 get_weather({"city": "Oslo"})' in done.stderr
    assert "  sends tool call_1: " in done.stderr


def test_step_ends_the_run_on_q(agentloop):
    done = agentloop("run", "weather in Oslo?", "--mock", "--demo-tools", "--step", input="\nq\n")
    assert done.exit_code == 130
    assert "cancelled: 1 step" in done.stderr


def test_a_call_that_was_stopped_by_step_has_not_begun(agentloop, tmp_path: Path):
    saved = tmp_path / "talk.json"
    options = ("--mock", "--demo-tools", "--step", "--save", str(saved))
    agentloop("run", "weather in Oslo?", *options, input="\nq\n")
    assert json.loads(saved.read_text())[-1]["content"] == "cancelled before it ran"


def test_a_request_that_was_stopped_by_step_is_no_step(agentloop):
    done = agentloop("run", "hi", "--mock", "--step", "--json", input="q\n")
    assert json.loads(done.stdout)["steps"] == 0


def test_what_a_model_writes_goes_into_a_pipe_as_it_is(agentloop):
    with MockProvider(lambda question: Reply("red \x1b[31m text")) as mock:
        done = agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m")
    assert done.stdout == "red \x1b[31m text\n"


def dedents(question: Question) -> Reply:
    """Calls the tool dedent, and answers with what came of it."""
    last = question.turns[-1]
    return Reply(last.text) if last.role == "tool" else Reply(calls=(Call.of("dedent", text="  x"),))


def test_without_a_terminal_a_tool_of_unknown_risk_is_denied_and_told_how_to_allow(agentloop):
    with MockProvider(dedents) as mock:
        done = agentloop("run", "go", "--base-url", mock.base_url, "--model", "m", "--tool", "textwrap:dedent")
    assert done.exit_code == 0
    assert "dedent needs an approval" in done.stderr
    assert "--allow dedent" in done.stderr
    assert done.stdout == "denied: it needs an approval, and nobody is there to give one\n"


def test_an_allowed_tool_runs_without_asking(agentloop):
    with MockProvider(dedents) as mock:
        server = ("--base-url", mock.base_url, "--model", "m")
        done = agentloop("run", "go", *server, "--tool", "textwrap:dedent", "--allow", "de*")
    assert done.stdout == "x\n"


def test_a_policy_file_decides_and_its_deny_is_stronger_than_allow(agentloop, tmp_path: Path):
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\ndecide = "deny"\ntool = "dedent"\nreason = "not today"\n')
    with MockProvider(dedents) as mock:
        server = ("--base-url", mock.base_url, "--model", "m", "--tool", "textwrap:dedent")
        done = agentloop("run", "go", *server, "--policy", str(policy), "--allow", "dedent")
    assert done.stdout == "denied: not today\n"


@pytest.mark.parametrize("fault", ["ok", "status=401", "html=502", "close"])
def test_keys_in_the_base_url_are_shown_nowhere(agentloop, fault: str):
    secret = "marked-secret-0815"
    with MockProvider(faults=f"then={fault}") as mock:
        url = f"{mock.base_url.replace('://', f'://me:{secret}@')}?api_key={secret}"
        options = ("--base-url", url, "--model", "m", "--retries", "0", "--show-requests", "--verbose", "--json")
        done = agentloop("run", "hi", *options, env={"AGENTLOOP_LOG": "debug", "AGENTLOOP_TRACEBACK": "1"})
    assert "POST http" in done.stderr
    assert secret not in done.output
