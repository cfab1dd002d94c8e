"""One conversation on three wires: one history in three bodies, one reply from three forms, and one trajectory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop import Agent, AsyncAgent, AsyncClient, Client, RunResult, tool
from agentloop.errors import ProtocolError
from agentloop.history import ServerCounter
from agentloop.messages import AssistantMessage, Message, ToolMessage, UserMessage, messages_from
from agentloop.mock import MockProvider, Reply
from agentloop.mock.anthropic_checks import check_messages_request
from agentloop.mock.checks import check_chat_request
from agentloop.mock.demo import convert_temperature, get_weather
from agentloop.mock.responses_checks import check_responses_request
from agentloop.model import ModelRequest, ModelResponse, ResponseDone
from agentloop.parts import ImagePart, TextPart, ToolCall
from agentloop.wire.anthropic import AnthropicWire
from agentloop.wire.chat import ChatWire
from agentloop.wire.convert import convert
from agentloop.wire.quirks import Quirks
from agentloop.wire.responses import ResponsesWire

RECORDINGS = Path(__file__).parent.parent / "recordings" / "llama-server"
TABLE: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("three_bodies.json").read_bytes())
NAMES = ["chat", "responses", "anthropic"]
ROW = Quirks(reasoning="never", default_max_tokens=1000, stores=False)
WIRES: dict[str, Any] = {
    "chat": ChatWire("m", "p", Quirks()),
    "responses": ResponsesWire("m", "p", ROW),
    "anthropic": AnthropicWire("m", "p", ROW),
}
CHECKS: dict[str, Callable[[Any], Any]] = {
    "chat": check_chat_request,
    "responses": check_responses_request,
    "anthropic": check_messages_request,
}
TOOLS = [tool(get_weather), tool(convert_temperature)]
PROMPT = "What is the weather in Tokyo, in Fahrenheit?"
ANSWER = "In Tokyo it is 64.4 °F (18.0 °C) and cloudy."


def request_of(row: dict[str, Any]) -> ModelRequest:
    asked = row["request"]
    return ModelRequest(
        messages=messages_from(asked["messages"]),
        tools=tuple(asked.get("tools", ())),
        tool_choice=asked.get("tool_choice"),
        instructions=asked.get("instructions"),
        options=asked.get("options", {}),
        stream=asked.get("stream", False),
    )


# --- out -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", TABLE)
def test_a_history_becomes_the_exact_body_of_each_wire(case: str, name: str) -> None:
    body = json.loads(WIRES[name].encode(request_of(TABLE[case])).body)
    assert body == TABLE[case][name]
    assert [*body] == [*TABLE[case][name]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", TABLE)
def test_a_strict_server_takes_each_body(case: str, name: str) -> None:
    assert CHECKS[name](TABLE[case][name]) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_history_that_grows_repeats_the_bytes_sent_before(name: str) -> None:
    """And a client that has sent it before sends the same as one that has not."""
    request = request_of(TABLE["two calls, an error, and a user who goes on"])
    grown: Any = {"chat": ChatWire, "responses": ResponsesWire, "anthropic": AnthropicWire}[name]("m", "p", ROW)
    before = grown.encode(ModelRequest(request.messages[:4])).body
    after = grown.encode(ModelRequest(request.messages)).body
    assert after == WIRES[name].encode(ModelRequest(request.messages)).body
    assert after.startswith(before[: before.index(b"no station")])


@pytest.mark.parametrize("name", NAMES)
def test_a_history_whose_front_was_trimmed_is_the_same_as_a_fresh_one(name: str) -> None:
    fresh: Any = {"chat": ChatWire, "responses": ResponsesWire, "anthropic": AnthropicWire}[name]("m", "p", ROW)
    messages = request_of(TABLE["text before a call"]).messages
    WIRES[name].encode(ModelRequest(messages))
    for start in (1, 3, 4):
        kept = ModelRequest(messages[start:])
        assert WIRES[name].encode(kept).body == fresh.encode(kept).body


# --- and back --------------------------------------------------------------------------------------------------------


def recorded(path: str) -> ModelResponse:
    name = path.split("/")[0] if "/" in path else "chat"
    body, wire, request = (RECORDINGS / path).read_bytes(), WIRES[name], ModelRequest((UserMessage("hi"),))
    if path.endswith(".json"):
        return wire.decode(body, request)
    assembler = wire.assembler(request)
    (*_, done) = [*assembler.feed(body), *assembler.end()]
    assert isinstance(done, ResponseDone)
    return done.response


@pytest.mark.parametrize(
    "path",
    [
        "responses/47-plain.200.json",
        "responses/48-stream.200.sse",
        "anthropic/49-plain.200.json",
        "anthropic/50-stream.200.sse",
    ],
)
def test_a_recorded_text_is_the_same_reply_on_each_wire(path: str) -> None:
    response = recorded(path)
    assert response.message == AssistantMessage("Hello! How can I assist you today?")
    assert (response.finish_reason, response.model) == ("stop", "qwen2.5-coder-0.5b-instruct")
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.complete) == (32, 10, True)
    assert (response.notes, response.repairs) == ((), ())


@pytest.mark.parametrize("path", ["responses/65-tools-stream.200.sse", "anthropic/64-tools-stream.200.sse"])
def test_a_recorded_call_is_the_same_reply_on_each_wire(path: str) -> None:
    response = recorded(path)
    (call,) = response.tool_calls
    assert response.message == AssistantMessage(None, (ToolCall(call.id, "get_weather", call.arguments),))
    assert call.arguments == '{"city": "Paris", "unit": "celsius"}'
    assert (response.finish_reason, response.usage.input_tokens) == ("tool_calls", 191)


# --- one trajectory --------------------------------------------------------------------------------------------------


def trajectory(result: RunResult) -> list[Any]:
    """The messages, with arguments as values: a whole reply on one wire has them as an object, not as text."""
    return [
        (m.role, m.text, [(c.id, c.name, json.loads(c.arguments)) for c in getattr(m, "tool_calls", ())])
        for m in result.messages
    ]


EXPECTED = [
    ("user", PROMPT, []),
    ("assistant", "", [("call_1", "get_weather", {"city": "Tokyo"})]),
    ("tool", '{"city":"Tokyo","celsius":18.0,"sky":"cloudy"}', []),
    (
        "assistant",
        "",
        [("call_2", "convert_temperature", {"value": 18.0, "from_unit": "celsius", "to_unit": "fahrenheit"})],
    ),
    ("tool", '{"value":64.4,"unit":"fahrenheit"}', []),
    ("assistant", ANSWER, []),
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_an_agent_takes_the_same_way_on_each_wire(name: str, streamed: bool) -> None:
    with MockProvider() as mock, Client(mock.base_url, model=mock.model, wire=name) as client:
        agent = Agent(client, tools=TOOLS)
        if streamed:
            with agent.stream(PROMPT) as stream:
                text = "".join(event.text for event in stream if event.type == "text_delta")
                result = stream.result
            assert text == ANSWER
        else:
            result = agent.run(PROMPT)
    assert result is not None
    assert (result.status, trajectory(result)) == ("answered", EXPECTED)
    assert [request.path for request in mock.requests] == [f"/v1{WIRES[name].path.removeprefix('/v1')}"] * 3


@pytest.mark.anyio
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", NAMES)
async def test_an_async_agent_takes_the_same_way_on_each_wire(name: str, streamed: bool) -> None:
    async with MockProvider() as mock, AsyncClient(mock.base_url, model=mock.model, wire=name) as client:
        agent = AsyncAgent(client, tools=TOOLS)
        if streamed:
            async with agent.stream(PROMPT) as stream:
                async for _ in stream:
                    pass
                result = stream.result
        else:
            result = await agent.run(PROMPT)
    assert result is not None
    assert (result.status, trajectory(result)) == ("answered", EXPECTED)


@pytest.mark.parametrize(
    ("first", "second"), [("chat", "anthropic"), ("anthropic", "responses"), ("responses", "chat")]
)
def test_a_conversation_goes_on_on_another_wire(first: str, second: str) -> None:
    with MockProvider() as mock, Client(mock.base_url, model=mock.model, wire=first) as client:
        begun = Agent(client, tools=TOOLS).run(PROMPT)
        with Client(mock.base_url, model=mock.model, wire=second) as other:
            result = Agent(other, tools=TOOLS).run("And in Paris?", messages=begun.messages)
    assert (result.status, result.text) == ("answered", "In Paris it is 14.0 °C and cloudy.")


def test_a_pause_is_followed_by_one_more_call_with_the_turn_as_it_is() -> None:
    replies = iter([Reply("Searching.", finish="pause"), Reply(" Found it.")])
    with (
        MockProvider(lambda question: next(replies)) as mock,
        Client(mock.base_url, model="m", wire="anthropic") as client,
    ):
        result = Agent(client).run("Search")
    assert (result.status, result.steps) == ("answered", 2)
    assert mock.requests[1].json["messages"][1:] == [
        {"role": "assistant", "content": [{"type": "text", "text": "Searching."}]}
    ]


# --- moving a history ------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
IDS = st.from_regex(r"[a-zA-Z0-9_-]{1,8}", fullmatch=True)
IMAGES = st.builds(ImagePart, st.just("https://example.org/a.png"), st.sampled_from([None, "low"]))
USERS = st.builds(UserMessage, TEXTS | st.lists(st.builds(TextPart, TEXTS) | IMAGES, min_size=1).map(tuple))


@st.composite
def rounds(draw: st.DrawFn) -> list[Message]:
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    calls = tuple(ToolCall(call_id, "f", draw(st.sampled_from(["{}", '{"a": 1}']))) for call_id in ids)
    results = [ToolMessage(call_id, draw(TEXTS), draw(st.booleans())) for call_id in ids]
    return [AssistantMessage(draw(st.none() | TEXTS), calls), *results]


HISTORIES = st.lists(
    USERS.map(lambda m: [m]) | st.builds(AssistantMessage, TEXTS).map(lambda m: [m]) | rounds(), min_size=1, max_size=5
)


@given(HISTORIES)
def test_what_two_wires_can_say_survives_the_way_there_and_back(parts: list[list[Message]]) -> None:
    messages = tuple(message for part in parts for message in part)
    there = convert(messages, to="anthropic")
    back = convert(there.messages, to="chat")
    assert (back.messages, there.losses, back.losses) == (messages, (), ())
    assert all(a is b for a, b in zip(back.messages, messages, strict=True))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=50, deadline=None)
@given(messages=HISTORIES.map(lambda parts: tuple(message for part in parts for message in part)), cuts=st.data())
def test_what_was_sent_before_never_changes_a_body(
    name: str, messages: tuple[Message, ...], cuts: st.DataObject
) -> None:
    kinds: dict[str, Any] = {"chat": ChatWire, "responses": ResponsesWire, "anthropic": AnthropicWire}
    used = kinds[name]("m", "p", ROW)
    for _ in range(4):
        start = cuts.draw(st.integers(0, len(messages) - 1))
        part = messages[start : cuts.draw(st.integers(start + 1, len(messages)))]
        request = ModelRequest((*part, UserMessage("go on")))
        body = used.encode(request).body
        assert body == kinds[name]("m", "p", ROW).encode(request).body
        assert CHECKS[name](json.loads(body)) is None


@pytest.mark.parametrize(
    ("case", "to", "losses"),
    [
        ("signed thinking", "chat", ["an item that only p understands was left out"]),
        ("encrypted reasoning", "anthropic", ["an item that only p understands was left out"]),
        ("reasoning in clear before a call", "anthropic", ["reasoning in clear was left out"]),
        ("a result with an image", "chat", ["part image_url of a tool message became a note in its text"]),
        ("a refusal", "anthropic", ["a refusal became plain text"]),
        (
            "a made-up tool name and an id with odd letters",
            "anthropic",
            ["a call id was rewritten in letters that every server takes"] * 2,
        ),
        ("signed thinking", "anthropic", []),
        ("files by id and by bytes", "responses", []),
    ],
)
def test_each_loss_of_a_move_is_told(case: str, to: Any, losses: list[str]) -> None:
    assert [loss.what for loss in convert(TABLE[case]["request"]["messages"], to=to).losses] == losses


def test_a_loss_names_its_message() -> None:
    history = [UserMessage("hi", name="ann"), AssistantMessage("Hello."), UserMessage("bye", name="ann")]
    converted = convert(history, to="responses")
    assert [(loss.message, loss.what) for loss in converted.losses] == [
        (0, "the name of a user message was left out"),
        (2, "the name of a user message was left out"),
    ]
    assert converted.messages[0] == UserMessage("hi")


@pytest.mark.parametrize("case", TABLE)
@pytest.mark.parametrize("to", NAMES)
def test_what_was_converted_is_sent_without_a_loss(case: str, to: Any) -> None:
    request = request_of(TABLE[case])
    converted = convert(request.messages, to=to, provider="p")
    encoded = WIRES[to].encode(ModelRequest(converted.messages))
    assert not [note for note in encoded.notes if "system message amid" not in note]


def test_a_client_tells_once_what_it_left_out() -> None:
    history = messages_from(TABLE["signed thinking"]["request"]["messages"])
    with MockProvider("echo") as mock, Client(mock.base_url, model="m", wire="responses") as client:
        first = client.respond(history)
        second = client.respond([*history, first.message, UserMessage("go on")])
    assert first.notes == ("an item that only p understands was left out",)
    assert second.notes == ()


# --- counting --------------------------------------------------------------------------------------------------------


def test_tokens_are_counted_by_the_server_and_each_list_once() -> None:
    history = (UserMessage("What is the weather in Tokyo?"),)
    with MockProvider() as mock:
        with Client(mock.base_url, model="m", wire="anthropic") as client:
            usage = client.respond(history, tools=TOOLS).usage
        with Client(mock.base_url, model="m", wire="anthropic-tokens") as client:
            counter = ServerCounter(client)
            counts = [counter.count(history, TOOLS), counter.count(history, TOOLS)]
    assert counts == [usage.input_tokens] * 2
    assert [request.path for request in mock.requests] == ["/v1/messages", "/v1/messages/count_tokens"]


def test_a_client_that_answers_is_no_counter() -> None:
    told = pytest.raises(ProtocolError, match="wire='anthropic-tokens'")
    with MockProvider() as mock, Client(mock.base_url, model="m", wire="anthropic") as client, told:
        ServerCounter(client).count((UserMessage("hi"),))
