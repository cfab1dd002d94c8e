"""Conversations in files, and JSON that can be printed anywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.cli.conversations import as_json, load, report, save
from agentloop.cli.printable import printable
from agentloop.errors import ConfigError
from agentloop.loop.result import RunResult
from agentloop.loop.run import Run
from agentloop.messages import AssistantMessage, ReasoningPart, SystemMessage, TextPart, ToolMessage, UserMessage
from agentloop.model import Usage
from agentloop.parts import ToolCall

CALL = ToolCall("call_1", "look", '{"at": "東京"}')
TALK = (
    SystemMessage("be brief"),
    UserMessage("weather? \ud83d"),
    AssistantMessage((ReasoningPart("hm"), TextPart("let me look")), (CALL,)),
    ToolMessage("call_1", "no\x1b[2J", is_error=True, kind="raised"),
)


def test_what_is_saved_is_loaded_as_it_was(tmp_path: Path):
    save(tmp_path / "talk.json", TALK)
    assert load(tmp_path / "talk.json") == TALK


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path):
    file = tmp_path / "talk.json"
    save(file, TALK)
    with pytest.raises(TypeError):
        save(file, [UserMessage("x", extra={"odd": object()})])
    assert load(file) == TALK
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("\x80", "is not JSON"),
        ('"hi"', "holds no list of messages"),
        ("[]", "holds no list of messages"),
        ('{"messages": 3}', "holds no list of messages"),
        ('["hi"]', "holds no list of messages"),
        ('[{"role": "wizard", "content": "hi"}]', "unknown role"),
    ],
)
def test_a_file_that_is_no_conversation_is_refused_with_its_name(tmp_path: Path, text: str, told: str):
    file = tmp_path / "talk.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=told) as refused:
        load(file)
    assert str(file) in str(refused.value)


def result(status: str) -> RunResult:
    run = Run([UserMessage("hi")])
    return RunResult(status=status, text="t", messages=TALK, usage=Usage(5, 2, 1), steps=2, run=run)


def test_a_report_has_messages_as_chat_completions_takes_them():
    messages = report(result("answered"), "mock")["messages"]
    assert messages[2] == {
        "role": "assistant",
        "content": "let me look",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "東京"}'}}
        ],
    }
    assert messages[3] == {"role": "tool", "tool_call_id": "call_1", "content": "no\x1b[2J"}


def test_a_report_of_a_run_that_did_not_answer_has_an_error_even_without_an_exception():
    told = report(result("step_limit"), "mock")
    assert told["error"] == {"type": "RunError", "message": "the run ended in step_limit"}


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_json_can_be_written_in_any_encoding_and_shown_on_any_terminal(encoding: str, value: object):
    text = as_json(value, encoding)
    assert json.loads(text.encode(encoding).decode(encoding)) == value
    assert printable(text) == text


def test_json_keeps_letters_readable_where_it_can():
    assert as_json("東京", "UTF-8") == '"東京"'
    assert as_json("東京", "cp1252") == '"\\u6771\\u4eac"'
