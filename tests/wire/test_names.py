"""Names of tools: free inside, legal on each wire, and told apart both ways."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.agent import Agent
from agentloop.errors import ConfigError
from agentloop.http.client import Client
from agentloop.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from agentloop.mock import Call, MockProvider, Question, Reply
from agentloop.model import ModelRequest, ResponseDone, ToolCallDelta
from agentloop.tools.tool import Tool
from agentloop.wire.anthropic import AnthropicWire
from agentloop.wire.chat import ChatWire
from agentloop.wire.names import Names
from agentloop.wire.quirks import Quirks
from agentloop.wire.responses import ResponsesWire

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
WIRES = {"chat": ChatWire, "responses": ResponsesWire, "anthropic": AnthropicWire}


def offer(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def spelled(*names: str) -> list[str]:
    known = Names.of([Tool(name) for name in names])
    return [known.to_wire(name) for name in names]


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("get_weather", "get_weather"),
        ("file.read", "file__read"),
        ("größe messen", "gro_e_messen"),
        ("a/b:c", "a_b_c"),
        ("天気", "tool_bc79d84d"),
        ("x" * 80, "x" * 55 + "_d929cdee"),
    ],
)
def test_a_name_is_spelled_as_providers_take_it(name: str, spelling: str):
    assert spelled(name) == [spelling]


def test_a_tool_that_is_named_like_a_hashed_spelling_is_told_apart():
    hashed = spelled("db.query", "db__query")[0]
    names = ["db.query", "db__query", hashed]
    known = Names.of([Tool(name) for name in names])
    assert len(set(map(known.to_wire, names))) == 3
    assert [known.from_wire(known.to_wire(name)) for name in names] == names


def test_a_tool_that_is_called_by_its_own_name_is_the_one_that_is_meant():
    assert Names.of([Tool("db.query"), Tool("quéry")]).from_wire("db.query") == "db.query"


def test_two_long_names_that_begin_alike_are_told_apart():
    first, second = spelled("x" * 70 + "a", "x" * 70 + "b")
    assert first != second
    assert LEGAL.fullmatch(first)


def test_a_name_that_is_legal_keeps_its_spelling_when_another_would_share_it():
    legal, other = spelled("db__query", "db.query")
    assert legal == "db__query"
    assert other == "db__query_82223c7d"


def test_the_order_of_the_tools_does_not_matter():
    assert spelled("a/b", "a:b") == spelled("a:b", "a/b")[::-1]


def test_a_tool_in_the_form_of_chat_completions_is_spelled_too():
    assert Names.of([offer("file.read")]).offer(offer("file.read")) == offer("file__read")


def test_a_tool_that_only_a_vendor_knows_needs_no_name():
    assert Names.of([{"type": "web_search"}]).spellings == {}


@pytest.mark.parametrize("name", ["", "---", "_", "  "])
def test_a_name_without_a_letter_or_digit_is_refused(name: str):
    with pytest.raises(ConfigError, match="letter or digit"):
        Names.of([offer(name)])


@pytest.mark.parametrize("name", ["", "---", "§", " x"])
def test_such_a_tool_cannot_be_made(name: str):
    with pytest.raises(ConfigError, match="tool's name"):
        Tool(name)


@given(st.lists(st.text(min_size=1).filter(lambda name: any(map(str.isalnum, name))), unique=True, max_size=6))
def test_every_name_is_legal_alone_of_its_spelling_and_found_again(names: list[str]):
    known = Names.of([offer(name) for name in names])
    sent = [known.to_wire(name) for name in names]
    assert all(map(LEGAL.fullmatch, sent))
    assert len(set(sent)) == len(names)
    assert [known.from_wire(spelling) for spelling in sent] == names


@pytest.mark.parametrize("prefix", ["", "functions.", "default_api."])
def test_a_prefix_before_a_spelling_is_understood(prefix: str):
    assert Names.of([Tool("file.read")]).from_wire(f"{prefix}file__read") == "file.read"


def test_a_name_that_nobody_offered_stays_as_the_model_wrote_it():
    assert Names.of([Tool("file.read")]).from_wire("file_read") == "file_read"


# --- on the wires ----------------------------------------------------------------------------------------------------

HISTORY = (
    UserMessage("read it"),
    AssistantMessage(None, (ToolCall("c1", "db.query", '{"a":1}'),)),
    ToolMessage("c1", "one"),
)


def names_in(value: Any) -> list[str]:
    """All names in a body, in order."""
    if isinstance(value, Mapping):
        own = [value["name"]] if isinstance(value.get("name"), str) else []
        return own + [name for item in value.values() for name in names_in(item)]
    return [name for item in value for name in names_in(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("wire", WIRES)
def test_offers_calls_and_the_choice_are_spelled_alike(wire: str):
    request = ModelRequest(HISTORY, tools=(Tool("db.query"), Tool("db__query")), tool_choice="db.query")
    body = json.loads(WIRES[wire]("m", "p", Quirks()).encode(request).body)
    assert sorted(names_in(body)) == ["db__query", "db__query_82223c7d", "db__query_82223c7d", "db__query_82223c7d"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_history_is_spelled_anew_when_a_tool_joins_that_would_share_the_name(wire: str):
    sender = WIRES[wire]("m", "p", Quirks())
    query = Tool("db.query")
    before = names_in(json.loads(sender.encode(ModelRequest(HISTORY, tools=(query,))).body))
    both = (query, Tool("db__query"))
    after = names_in(json.loads(sender.encode(ModelRequest(HISTORY, tools=both)).body))
    assert before == ["db__query", "db__query"]
    assert sorted(after) == ["db__query", "db__query_82223c7d", "db__query_82223c7d"]


def test_an_allowed_choice_is_spelled_too():
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [offer("file.read")]}}
    request = ModelRequest(HISTORY, tools=(Tool("file.read"),), tool_choice=choice)
    body = json.loads(ChatWire("m", "p", Quirks()).encode(request).body)
    assert body["tool_choice"]["allowed_tools"]["tools"] == [offer("file__read")]


def test_a_streamed_call_has_its_own_name_in_each_event(events: Any):
    entry = {"index": 0, "id": "c1", "function": {"name": "file__read", "arguments": "{}"}}
    body = b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [entry]}}]}).encode() + b"\n\n"
    seen = events(body, b"data: [DONE]\n\n", request=ModelRequest(HISTORY[:1], tools=(Tool("file.read"),)))
    assert [event.name for event in seen if isinstance(event, ToolCallDelta)] == ["file.read"]
    assert isinstance(seen[-1], ResponseDone)
    assert seen[-1].response.tool_calls == (ToolCall("c1", "file.read", "{}"),)


def ask_both(question: Question) -> Reply:
    if question.turns[-1].role == "tool":
        return Reply(" ".join(turn.text for turn in question.turns if turn.role == "tool"))
    return Reply(calls=tuple(Call.of(tool.name) for tool in question.tools))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_a_strict_server_takes_the_names_and_the_right_tools_run(wire: str, streamed: bool):
    tools = [Tool(name, function=partial(str, name)) for name in ("db.query", "db_query", "größe messen")]
    with MockProvider(ask_both) as mock, Client(mock.base_url, model=mock.model, wire=wire) as client:
        result = Agent(client, tools=tools).stream("go", stream=streamed).finish()
    assert result.text == "db.query db_query größe messen"


def test_a_run_in_another_process_sends_the_same_bytes():
    code = (
        "import hashlib; from agentloop.wire.chat import ChatWire; from agentloop.wire.quirks import Quirks; "
        "from agentloop.model import ModelRequest; from agentloop.messages import UserMessage; "
        "from agentloop.tools.tool import Tool; "
        "request = ModelRequest((UserMessage('hi'),), tools=(Tool('a.b'), Tool('a__b'), Tool('天気'))); "
        "print(hashlib.sha256(ChatWire('m', 'p', Quirks()).encode(request).body).hexdigest())"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in ("0", "1")
    ]
    assert runs[0].stdout == runs[1].stdout
