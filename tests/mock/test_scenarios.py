"""Scenarios by name, as a function, and as a script file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.errors import ConfigError
from agentloop.mock import Call, MockProvider, Question, Reply, mock_handler

Body = dict[str, Any]
HI: Body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def replies(scenario: Any, **fields: Any) -> list[Body]:
    """The body of a first and of a second reply."""
    with httpx.Client(transport=httpx.MockTransport(mock_handler(scenario))) as client:
        return [client.post("http://mock/v1/chat/completions", json={**HI, **fields}).json() for _ in range(2)]


def test_echo_answers_with_the_last_user_text() -> None:
    messages = [{"role": "user", "content": "one"}, {"role": "user", "content": [{"type": "text", "text": "two"}]}]
    assert replies("echo", messages=messages)[0]["choices"][0]["message"]["content"] == "two"


def test_a_function_is_a_scenario() -> None:
    def scenario(question: Question) -> Reply:
        return Reply(question.prompt.upper(), calls=(Call.of("f", x=1),), reasoning="hm")

    message = replies(scenario)[0]["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("HI", "hm")
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"x": 1}'}


def test_a_scenario_that_raises_is_a_500_that_says_so() -> None:
    def scenario(question: Question) -> Reply:
        raise KeyError("missing")

    with MockProvider(scenario) as mock, httpx.Client(trust_env=False) as client:
        response = client.post(f"{mock.base_url}/chat/completions", json=HI)
    assert (response.status_code, "KeyError: 'missing'" in response.text) == (500, True)


def test_a_script_is_given_out_in_order_and_then_refuses(tmp_path: Path) -> None:
    script = tmp_path / "two.json"
    script.write_text('{"replies": [{"calls": [{"name": "f", "arguments": {"x": 1}}]}]}')
    first, second = replies(script)
    assert first["choices"][0]["finish_reason"] == "tool_calls"
    assert second["error"]["code"] == "script_used_up"
    assert "it has 1 replies, and this is request 2" in second["error"]["message"]


def test_a_refusal_by_a_fault_takes_no_reply_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "one.json"
    script.write_text('{"replies": [{"text": "first"}]}')
    with MockProvider(script, faults="status=503") as mock, httpx.Client(trust_env=False) as client:
        refused, answered = (client.post(f"{mock.base_url}/chat/completions", json=HI) for _ in range(2))
    assert (refused.status_code, refused.headers["x-request-id"]) == (503, "req-mock-1")
    assert answered.json()["choices"][0]["message"]["content"] == "first"


def test_a_script_can_send_broken_arguments_and_any_finish_word(tmp_path: Path) -> None:
    script = tmp_path / "odd.json"
    script.write_text('{"replies": [{"calls": [{"name": "f", "arguments": "{x", "id": "a"}], "finish": "stop"}, {}]}')
    choice = replies(script)[0]["choices"][0]
    assert choice["message"]["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{x"}}
    ]
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", 'an object with a list "replies"'),
        ('{"replies": ["hi"]}', r"replies\[0\]: must be an object"),
        ('{"replies": [{"txt": "hi"}]}', "unknown key 'txt'"),
        ('{"replies": [{"text": 3}]}', "'text' must be a string"),
        ('{"replies": [{"calls": {}}]}', '"calls" must be a list'),
        ('{"replies": [{}, {"calls": [{"arguments": {}}]}]}', r"replies\[1\].calls\[0\]: a call needs a \"name\""),
        ('{"replies": [{"calls": [{"name": "f", "arguments": 3}]}]}', "'arguments' must be a string"),
    ],
)
def test_a_script_that_is_wrong_is_refused_with_the_place(tmp_path: Path, content: str, complaint: str) -> None:
    script = tmp_path / "wrong.json"
    script.write_text(content)
    with pytest.raises(ConfigError, match=complaint):
        MockProvider(script)


def test_an_unknown_scenario_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="use weather, echo, or the path of a JSON file"):
        MockProvider("wether")
