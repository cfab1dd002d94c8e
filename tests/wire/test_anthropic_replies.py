"""Anthropic Messages, whole: how replies and errors are read, and how a turn goes back."""

import json
from typing import Any

import pytest

from agentloop.errors import ContextOverflow, ProtocolError, QuotaExceeded, ServerError
from agentloop.messages import ToolMessage, UserMessage
from agentloop.model import ModelRequest, ModelResponse
from agentloop.parts import ReasoningPart, VendorPart
from agentloop.wire.anthropic import AnthropicTokensWire, AnthropicWire
from agentloop.wire.errors import status_error
from agentloop.wire.quirks import Quirks

HI = UserMessage("hi")
WIRE = AnthropicWire("claude-x", "p", Quirks())


def sent(*messages: Any, wire: AnthropicWire = WIRE) -> list[Any]:
    """The content of each message that is sent for this history."""
    body = json.loads(wire.encode(ModelRequest(messages)).body)
    return [message["content"] for message in body["messages"]]


def reply(*content: Any, stop: Any = "end_turn", history: Any = (HI,), **body: Any) -> ModelResponse:
    value = {"id": "msg_1", "model": "m", "content": list(content), "stop_reason": stop, **body}
    return WIRE.decode(json.dumps(value).encode(), ModelRequest(history))


def thinking(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def tool_use(call_id: str = "tu1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": given}


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "pause"),
        ("refusal", "content_filter"),
        (None, None),
    ],
)
def test_each_stop_reason_has_its_meaning(word: Any, reason: Any) -> None:
    response = reply({"type": "text", "text": "x"}, stop=word)
    assert (response.finish_reason, response.raw_finish_reason, response.notes) == (reason, word, ())


def test_an_unknown_stop_reason_is_other_and_told() -> None:
    response = reply({"type": "text", "text": "x"}, stop="bored")
    assert (response.finish_reason, response.notes) == ("other", ("stop reason 'bored' was read as other",))


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    assert reply(stop="refusal", stop_details=details).notes == ("the provider refused: cyber: Not this.",)


def test_input_tokens_count_what_the_cache_read_and_wrote() -> None:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
    }
    found = reply(usage=usage).usage
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens) == (3210, 50, 20)
    assert (found.cached_tokens, found.cache_write_tokens, found.complete) == (3000, 200, True)


def test_usage_that_is_missing_is_unknown_and_not_zero() -> None:
    usage = reply().usage
    assert (usage.input_tokens, usage.output_tokens, usage.complete) == (None, None, False)


THINKING = [thinking("alpha", "SIG-1"), {"type": "redacted_thinking", "data": "OPAQUE=="}, thinking("", "SIG-2")]
SEARCHED = [
    {"type": "server_tool_use", "id": "st1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "st1", "content": [{"url": "https://example.org"}]},
    {"type": "text", "text": "Found.", "citations": [{"type": "char_location", "cited_text": "x"}]},
]


@pytest.mark.parametrize(
    "content",
    [
        [*THINKING, tool_use()],
        [*SEARCHED, {"type": "text", "text": " And more."}],
        [{"type": "text", "text": "a"}, tool_use("t1"), thinking("between", "SIG"), tool_use("t2", a=1)],
        [{"type": "tomorrow", "secret": [1, {"b": None}]}, {"type": "text", "text": "x", "tomorrow": 1}],
        [{"type": "tool_use", "id": "t1", "name": "f", "input": {}, "caller": {"type": "direct"}}],
    ],
)
def test_a_turn_goes_back_exactly_as_it_came(content: list[Any]) -> None:
    response = reply(*content, stop="tool_use")
    results = [ToolMessage(call.id, "1") for call in response.tool_calls]
    assert sent(HI, response.message, *results)[1] == content


def test_what_the_model_thought_can_be_read_and_is_no_text() -> None:
    response = reply(*THINKING, {"type": "text", "text": "Answer."})
    assert (response.reasoning, response.text) == ("alpha", "Answer.")


def test_an_item_of_another_provider_stays_at_home() -> None:
    message = reply(*THINKING, {"type": "text", "text": "Answer."}).message
    other = AnthropicWire("claude-x", "other", Quirks(reasoning="never"))
    assert sent(HI, message, wire=other)[1] == [{"type": "text", "text": "Answer."}]


def test_an_unknown_block_is_kept_and_told() -> None:
    response = reply({"type": "tomorrow", "x": 1})
    assert response.message.parts == (VendorPart("anthropic", "p", {"type": "tomorrow", "x": 1}),)
    assert response.notes == ("a content block of type tomorrow was kept as it is",)


def test_thinking_that_was_cut_before_its_signature_does_not_go_back() -> None:
    response = reply(thinking("half a tho", ""), stop="max_tokens")
    assert response.message.parts == (ReasoningPart("half a tho"),)


def test_calls_get_ids_and_the_same_call_twice_is_one() -> None:
    response = reply(tool_use("", a=1), tool_use("x"), tool_use("x"), stop="tool_use")
    assert [call.id for call in response.tool_calls] == ["call_1_1", "x"]
    assert [repair.what for repair in response.repairs] == [
        "tool call without an id",
        "the same tool call twice in one reply is one call",
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", ProtocolError),
        (b"[]", ProtocolError),
        (b'{"id": "msg_1"}', ProtocolError),
        (b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', ServerError),
    ],
)
def test_a_body_that_is_no_message_is_an_error_that_may_be_retried(body: bytes, kind: type[ProtocolError]) -> None:
    with pytest.raises(kind) as caught:
        WIRE.decode(body, ModelRequest((HI,)))
    assert caught.value.retryable is (body != b"[]")


@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (529, {"type": "overloaded_error", "message": "Overloaded"}, ServerError, True),
        (402, {"type": "billing_error", "message": "Pay"}, QuotaExceeded, False),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}, ContextOverflow, False),
    ],
)
def test_errors_have_their_class(status: int, error: Any, kind: type[Exception], retryable: bool) -> None:
    found = status_error(json.dumps({"type": "error", "error": error}).encode(), status=status)
    assert (type(found), found.retryable) == (kind, retryable)


def test_the_stable_code_of_an_error_is_its_code() -> None:
    details = {"error_code": "thinking_signature_invalid"}
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "no", "details": details}}
    assert status_error(body, status=400).code == "thinking_signature_invalid"


def test_a_filter_that_answers_with_400_is_a_verdict() -> None:
    error = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
    found = WIRE.filtered(json.dumps({"type": "error", "error": error}).encode())
    assert found is not None
    assert (found.finish_reason, found.notes) == ("content_filter", ("Output blocked by content filtering policy",))
    assert WIRE.filtered(b'{"type":"error","error":{"message":"no"}}') is None


def test_a_count_is_the_usage_of_a_reply_that_says_nothing() -> None:
    counting = AnthropicTokensWire("m", "p", Quirks())
    assert counting.decode(b'{"input_tokens": 12}', ModelRequest((HI,))).usage.input_tokens == 12
    with pytest.raises(ProtocolError, match="does not say `input_tokens`"):
        counting.decode(b"{}", ModelRequest((HI,)))
