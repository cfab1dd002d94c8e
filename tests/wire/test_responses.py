"""The Responses API, whole: what is sent beyond the table of three bodies, and how replies are read."""

import json
from typing import Any

import pytest

from agentloop.errors import ConfigError, ProtocolError, RateLimited, ServerError, StatusError
from agentloop.messages import AssistantMessage, ToolMessage, UserMessage
from agentloop.model import ModelRequest, ModelResponse, Options
from agentloop.parts import FilePart, ReasoningPart, RefusalPart, TextPart, ToolCall, VendorPart
from agentloop.wire.quirks import Quirks, preset
from agentloop.wire.responses import ResponsesWire

HI = UserMessage("hi")
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC=="}
CUSTOM: dict[str, Any] = {
    "type": "custom",
    "custom": {
        "name": "patch",
        "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: WORD"}},
    },
}


def wire(provider: str = "p", **quirks: Any) -> ResponsesWire:
    return ResponsesWire("m", provider, Quirks(**quirks))


WIRE = wire()
DEEPSEEK = ResponsesWire("m", "deepseek-responses", preset("deepseek-responses"))


def sent(*messages: Any, wire: ResponsesWire = WIRE, tools: Any = (), **fields: Any) -> dict[str, Any]:
    return json.loads(wire.encode(ModelRequest(messages or (HI,), tuple(tools), **fields)).body)


def reply(*output: Any, wire: ResponsesWire = WIRE, **body: Any) -> ModelResponse:
    value = {"id": "resp_1", "model": "m", "status": "completed", "error": None, "output": list(output), **body}
    return wire.decode(json.dumps(value).encode(), ModelRequest((HI,)))


def said(*content: Any, **item: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": list(content),
        **item,
    }


def text(value: str, **fields: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": value, "annotations": [], **fields}


# --- requests --------------------------------------------------------------------------------------------------------


def test_a_server_that_may_store_is_told_not_to_and_asked_for_encrypted_reasoning() -> None:
    body = sent()
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])


def test_storing_can_be_asked_for_and_servers_that_keep_nothing_hear_nothing_of_it() -> None:
    stored = sent(options={"store": True})
    assert (stored["store"], "include" in stored) == (True, False)
    assert sent(wire=DEEPSEEK).keys() == {"model", "input"}


def test_the_whole_trajectory_goes_back_each_time() -> None:
    message = reply(REASONING, CALL, wire=WIRE).message
    body = sent(HI, message, ToolMessage("c1", "1"), AssistantMessage("Done."), UserMessage("more"))
    assert [item["type"] for item in body["input"]] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "message",
        "message",
    ]
    assert body.keys().isdisjoint({"previous_response_id", "conversation"})


def test_reasoning_without_the_item_that_it_led_to_does_not_go_back() -> None:
    cut = reply(REASONING, said(text("x")), {**REASONING, "id": "rs_2"}).message
    assert [item["type"] for item in sent(HI, cut, UserMessage("go on"))["input"]] == ["message"] * 1 + [
        "reasoning",
        "message",
        "message",
    ]


def test_reasoning_in_clear_goes_back_as_an_item_with_an_id_of_its_own() -> None:
    turn = AssistantMessage((ReasoningPart("hm"),), (ToolCall("c1", "f"),))
    first, again = (sent(HI, turn, ToolMessage("c1", "1"), wire=DEEPSEEK, tools=[CUSTOM])["input"][1] for _ in range(2))
    assert first == again
    assert first["content"] == [{"type": "reasoning_text", "text": "hm"}]
    assert first["id"].startswith("rs_")


def test_calls_come_last_where_an_item_between_them_would_split_the_turn() -> None:
    parts = (ToolCall("c1", "f"), TextPart("and"), ToolCall("c2", "f"))
    history = (HI, AssistantMessage(parts), ToolMessage("c1", "1"), ToolMessage("c2", "2"))
    orders = [[item["type"] for item in sent(*history, wire=w)["input"][1:4]] for w in (WIRE, DEEPSEEK)]
    assert orders == [["function_call", "message", "function_call"], ["message", "function_call", "function_call"]]


def test_strict_is_always_said() -> None:
    function = {"name": "f", "parameters": {"type": "object"}}
    tools: list[Any] = [
        {"type": "function", "function": function},
        {"type": "function", "function": {**function, "name": "g", "strict": True}},
        {"type": "function", "name": "h", "parameters": {}},
    ]
    assert [tool["strict"] for tool in sent(tools=tools)["tools"]] == [False, True, False]


def test_tools_and_choices_are_flat() -> None:
    choice = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "custom", "custom": {"name": "patch"}}]},
    }
    body = sent(tools=[CUSTOM, {"type": "web_search"}], tool_choice=choice)
    assert body["tools"] == [
        {
            "type": "custom",
            "name": "patch",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: WORD"},
        },
        {"type": "web_search"},
    ]
    assert body["tool_choice"] == {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "custom", "name": "patch"}],
    }


def test_a_custom_call_goes_back_with_its_free_text_and_its_own_kind_of_output() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "patch", "input": "*** not JSON"}
    message = reply(item).message
    body = sent(HI, message, ToolMessage("c1", "ok"), tools=[CUSTOM])["input"]
    assert body[1] == {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** not JSON"}
    assert body[2] == {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"}


def test_a_custom_call_of_another_provider_becomes_a_function_call() -> None:
    item = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "free"}
    body = sent(HI, reply(item).message, ToolMessage("c1", "ok"), wire=wire("other"))["input"]
    assert (body[1]["type"], body[1]["arguments"]) == ("function_call", '{"input": "free"}')
    assert body[2]["type"] == "function_call_output"


def test_a_file_by_address() -> None:
    body = sent(UserMessage((FilePart(url="https://example.org/a.pdf"),)))
    assert body["input"][0]["content"] == [{"type": "input_file", "file_url": "https://example.org/a.pdf"}]


def test_options_have_their_own_names() -> None:
    options: Options = {"max_tokens": 5, "verbosity": "low", "logprobs": True, "top_logprobs": 3, "stream_options": {}}
    body = sent(options=options, stream=True)
    assert (body["max_output_tokens"], body["text"]) == (5, {"verbosity": "low"})
    assert body["include"] == ["reasoning.encrypted_content", "message.output_text.logprobs"]
    assert body["top_logprobs"] == 3
    assert "stream_options" not in body


def test_an_option_without_a_place_is_left_out_and_told() -> None:
    encoded = WIRE.encode(ModelRequest((HI,), options={"stop": "x", "seed": 1}))
    assert encoded.notes == (
        "option stop has no place in the Responses API and was left out",
        "option seed has no place in the Responses API and was left out",
    )


def test_several_replies_at_once_are_refused() -> None:
    with pytest.raises(ConfigError, match="gives one reply"):
        sent(options={"n": 2})


def test_instructions_alone_are_a_request() -> None:
    request = ModelRequest((), instructions="Say hello.")
    assert json.loads(DEEPSEEK.encode(request).body)["input"] == []
    with pytest.raises(ConfigError, match="at least one message, or instructions"):
        WIRE.encode(ModelRequest(()))


# --- replies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reason", "word"),
    [
        ({"status": "completed"}, "stop", "completed"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
            "content_filter",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "other", "steered"),
        ({"status": "incomplete", "incomplete_details": None}, "other", "incomplete"),
        ({"status": "cancelled"}, "other", "cancelled"),
        ({"status": None}, None, None),
    ],
)
def test_the_finish_reason_follows_from_the_status(body: Any, reason: Any, word: Any) -> None:
    response = reply(said(text("x")), **body)
    assert (response.finish_reason, response.raw_finish_reason) == (reason, word)


def test_a_complete_reply_with_calls_asks_for_tools() -> None:
    response = reply(said(text("Let me.")), CALL)
    assert (response.finish_reason, response.text) == ("tool_calls", "Let me.")
    assert response.message == AssistantMessage("Let me.", (ToolCall("c1", "f", "{}"),))


def test_a_refusal_is_no_text() -> None:
    response = reply(said({"type": "refusal", "refusal": "I cannot."}))
    assert (response.text, response.refusal) == ("", "I cannot.")
    assert response.message.parts == (RefusalPart("I cannot."),)


def test_usage_with_its_details() -> None:
    usage = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 4},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 12},
    }
    found = reply(said(text("x")), usage=usage).usage
    assert (found.input_tokens, found.cached_tokens, found.cache_write_tokens) == (20, 8, 4)
    assert (found.output_tokens, found.reasoning_tokens, found.complete) == (30, 12, True)


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (
            {
                "type": "reasoning",
                "id": "r",
                "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
            },
            "a\n\nb",
        ),
        (
            {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "raw"}]},
            "raw",
        ),
        (REASONING, None),
    ],
)
def test_reasoning_can_be_read_and_goes_back_whole(item: Any, shown: Any) -> None:
    response = reply(item, said(text("x")))
    assert (response.reasoning, response.text) == (shown, "x")
    assert sent(HI, response.message, HI)["input"][1] == item


@pytest.mark.parametrize(
    "item",
    [
        said(text("x"), phase="commentary"),
        said(text("see", annotations=[{"type": "url_citation", "url": "https://example.org"}])),
        said(text("a"), {"type": "refusal", "refusal": "b"}, tomorrow=1),
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
    ],
)
def test_what_has_no_neutral_form_goes_back_whole(item: Any) -> None:
    response = reply(item, said(text("end")))
    assert sent(HI, response.message, HI)["input"][1] == item
    assert VendorPart("responses", "p", item) in response.message.parts


def test_the_keys_of_a_call_that_are_not_known_go_back_to_the_same_provider_only() -> None:
    message = reply({**CALL, "id": "fc_1", "status": "completed", "namespace": "n"}).message
    both = [sent(HI, message, ToolMessage("c1", "1"), wire=w)["input"][1] for w in (WIRE, wire("other"))]
    assert both == [{**CALL, "namespace": "n"}, CALL]


@pytest.mark.parametrize(("bound", "reason"), [(30, "length"), (31, "stop"), (None, "stop")])
def test_a_server_that_tells_no_cut_is_not_believed_at_the_bound(bound: int | None, reason: str) -> None:
    llama = ResponsesWire("m", "llama.cpp-responses", preset("llama.cpp-responses"))
    body = {"status": "completed", "output": [said(text("x"))], "usage": {"input_tokens": 1, "output_tokens": 30}}
    request = ModelRequest((HI,), options={"max_tokens": bound})
    assert llama.decode(json.dumps(body).encode(), request).finish_reason == reason
    assert WIRE.decode(json.dumps(body).encode(), request).finish_reason == "stop"


def test_a_failed_reply_is_an_error_with_what_came() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Slow down"}
    with pytest.raises(RateLimited, match="Slow down") as caught:
        reply(said(text("par")), status="failed", error=error)
    assert caught.value.partial is not None
    assert (caught.value.partial.text, caught.value.retryable) == ("par", True)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"status": "failed", "output": []}', ServerError),
        (b'{"error": {"message": "no", "code": "invalid_prompt"}}', StatusError),
        (b'{"detail": "nothing here"}', StatusError),
        (b'{"id": "resp_1"}', ProtocolError),
        (b"<html>", ProtocolError),
    ],
)
def test_a_body_without_output_is_an_error(body: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        WIRE.decode(body, ModelRequest((HI,)))
