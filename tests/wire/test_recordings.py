"""Every recorded Chat Completions reply, and what it must become."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agentloop.errors import (
    AuthError,
    ContextOverflow,
    ModelError,
    RateLimited,
    RequestRejected,
    ServerError,
    StreamInterrupted,
)
from agentloop.messages import AssistantMessage, UserMessage
from agentloop.model import ModelRequest, ModelResponse, ResponseDone
from agentloop.wire.chat import ChatWire
from agentloop.wire.errors import status_error
from agentloop.wire.quirks import Quirks

RECORDINGS = Path(__file__).parent.parent / "recordings"
REQUEST = ModelRequest((UserMessage("hi"),))

# file, finish reason, how the text begins, number of calls, input tokens, output tokens
REPLIES = [
    ("litellm-proxy/01-plain.200.json", "stop", "Paris is the capital", 0, 10, 20),
    ("litellm-proxy/11-mock-tool-calls.200.json", "stop", "", 2, 10, 20),
    ("litellm-proxy/21-proxied-tools.200.json", "tool_calls", "", 1, 257, 28),
    ("litellm-proxy/25-proxied-length.200.json", "length", "Once upon a time, th", 0, 37, 12),
    ("llama-server/01-plain.200.json", "stop", "The capital of Franc", 0, 41, 8),
    ("llama-server/04-tools-required.200.json", "tool_calls", "", 1, 257, 28),
    ("llama-server/06-tools-named.200.json", "tool_calls", "", 1, 260, 29),
    ("llama-server/08-tools-auto.200.json", "tool_calls", "", 1, 257, 28),
    ("llama-server/10-parallel-required.200.json", "tool_calls", "", 3, 415, 86),
    ("llama-server/12-parallel-auto.200.json", "tool_calls", "", 3, 415, 86),
    ("llama-server/13-second-turn.200.json", "stop", "The weather in Paris", 0, 333, 17),
    ("llama-server/17-wrong-model.200.json", "stop", "The capital of Franc", 0, 41, 8),
    ("llama-server/21-length.200.json", "length", "Once upon a time, th", 0, 37, 12),
    ("llama-server/23-json-schema.200.json", "stop", '{\n  "name": "Anna",\n', 0, 43, 26),
    ("llama-server/25-json-object.200.json", "stop", '{\n  "name": "Anna",\n', 0, 43, 26),
    ("llama-server/28-empty-messages.200.json", "stop", "I'm sorry, but I can", 0, 24, 12),
    ("llama-server/29-n2.200.json", "stop", "France is the capita", 0, 41, 9),
    ("llama-server/31-logprobs.200.json", "length", "The capital of", 0, 41, 3),
    ("llama-server/32-stop-sequence.200.json", "stop", "The number of items ", 0, 42, 15),
    ("llama-server/33-bad-role.200.json", "length", "I'm sorry, but I can", 0, 24, 8),
    ("llama-server/35-tool-choice-none.200.json", "stop", '```json\n{"name": "ge', 0, 260, 28),
    ("llama-server/40-text-parts.200.json", "stop", "Hello! How can I ass", 0, 33, 10),
    ("llama-server/43-max-completion-tokens.200.json", "length", "Once upon a time,", 0, 37, 5),
    ("llama-server/44-tools-length-cut.200.json", "length", "", 1, 257, 16),
    ("llama-server/51-max-tokens-0.200.json", "length", "The", 0, 41, 1),
    ("llama-server/53-unknown-field.200.json", "stop", "The capital of Franc", 0, 41, 8),
    ("llama-server/54-developer-role.200.json", "stop", "HELLO", 0, 18, 3),
    ("llama-server/55-tool-orphan.200.json", "stop", "I'm sorry, but I can", 0, 279, 13),
    ("llama-server/58-two-system.200.json", "length", "Hello! How can I ass", 0, 33, 8),
    ("llama-server/59-assistant-prefill.200.json", "stop", "Apple, Banana, Orang", 0, 35, 5),
    ("llama-server/62-parallel-false.200.json", "tool_calls", "", 3, 415, 86),
    ("llama-server/66-tools-and-json-schema.200.json", "stop", '{"name": "get_weathe', 0, 257, 26),
    ("llama-server/68-tools-empty-list.200.json", "stop", "Hello! How can I ass", 0, 30, 10),
    ("llama-server-plain-template/04-tools-required.200.json", "length", '```json\n{\n  "name": ', 0, 267, 200),
    ("llama-server-plain-template/06-tools-named.200.json", "stop", '{"name": "add_number', 0, 267, 25),
    ("llama-server-plain-template/08-tools-auto.200.json", "stop", '```json\n{\n  "name": ', 0, 267, 37),
    ("llama-server-plain-template/10-parallel-required.200.json", "length", '```json\n{\n  "name": ', 0, 268, 300),
    ("llama-server-plain-template/12-parallel-auto.200.json", "stop", '```json\n{\n  "name": ', 0, 268, 37),
    ("llama-server-plain-template/13-second-turn.200.json", "length", '{"name": "get_weathe', 0, 327, 200),
    ("llama-server-plain-template/35-tool-choice-none.200.json", "stop", '```json\n{\n  "name": ', 0, 267, 37),
    ("llama-server-plain-template/44-tools-length-cut.200.json", "length", '```json\n{\n  "name":', 0, 267, 8),
    ("llama-server-plain-template/55-tool-orphan.200.json", "length", '{"name": "get_weathe', 0, 274, 16),
    ("litellm-proxy/02-stream.200.sse", "stop", "Paris is the capital", 0, 14, 7),
    ("litellm-proxy/12-mock-tool-calls-stream.200.sse", "stop", "", 0, None, None),
    ("litellm-proxy/20-proxied-stream.200.sse", "stop", "The capital of Franc", 0, 41, 8),
    ("litellm-proxy/22-proxied-tools-stream.200.sse", "tool_calls", "", 1, 257, 28),
    ("litellm-proxy/23-proxied-parallel-stream.200.sse", "tool_calls", "", 3, 415, 86),
    ("llama-server/02-stream-usage.200.sse", "stop", "The capital of Franc", 0, 41, 8),
    ("llama-server/03-stream-no-usage.200.sse", "stop", "The capital of Franc", 0, None, None),
    ("llama-server/05-tools-required-stream.200.sse", "tool_calls", "", 1, 257, 28),
    ("llama-server/07-tools-named-stream.200.sse", "tool_calls", "", 1, 260, 29),
    ("llama-server/09-tools-auto-stream.200.sse", "tool_calls", "", 1, 257, 28),
    ("llama-server/11-parallel-required-stream.200.sse", "tool_calls", "", 3, 415, 86),
    ("llama-server/14-second-turn-stream.200.sse", "stop", "The weather in Paris", 0, 333, 17),
    ("llama-server/22-length-stream.200.sse", "length", "Once upon a time, th", 0, 37, 12),
    ("llama-server/24-json-schema-stream.200.sse", "stop", '{\n  "name": "Anna",\n', 0, 43, 26),
    ("llama-server/30-logprobs-stream.200.sse", "length", "The capital of Franc", 0, 41, 4),
    ("llama-server/41-utf8-stream.200.sse", "length", "你好世界 🌟 🌟 🌟 🌟 🌟 🌟 🌟 🌟", 0, 40, 60),
    ("llama-server/42-utf8-tool-args-stream.200.sse", "tool_calls", "", 1, 200, 28),
    ("llama-server/45-tools-length-cut-stream.200.sse", "length", "", 1, 257, 16),
    ("llama-server/46-sse-ping-stream.200.sse", "length", "The quick brown fox ", 0, 3330, 8),
    ("llama-server/57-timings-per-token-stream.200.sse", "length", "The capital of", 0, 41, 3),
    ("llama-server/63-tools-auto-text-answer-stream.200.sse", "stop", "Raindrops fall,\nSnow", 0, 257, 14),
    ("llama-server-plain-template/05-tools-required-stream.200.sse", "length", '```json\n{\n  "name": ', 0, 267, 200),
    ("llama-server-plain-template/07-tools-named-stream.200.sse", "stop", '{"name": "add_number', 0, 267, 25),
    ("llama-server-plain-template/09-tools-auto-stream.200.sse", "stop", '```json\n{\n  "name": ', 0, 267, 37),
    (
        "llama-server-plain-template/11-parallel-required-stream.200.sse",
        "length",
        '```json\n{\n  "name": ',
        0,
        268,
        300,
    ),
    ("llama-server-plain-template/14-second-turn-stream.200.sse", "length", '{"name": "get_weathe', 0, 327, 200),
    ("llama-server-plain-template/42-utf8-tool-args-stream.200.sse", "length", '```json\n{\n  "name": ', 0, 269, 200),
    ("llama-server-plain-template/45-tools-length-cut-stream.200.sse", "length", '```json\n{\n  "name":', 0, 267, 8),
]

REFUSALS: list[tuple[str, type[ModelError]]] = [
    ("litellm-proxy/03-wrong-model.400.json", RequestRejected),
    ("litellm-proxy/04-bad-json.400.json", RequestRejected),
    ("litellm-proxy/05-no-auth.401.json", AuthError),
    ("litellm-proxy/06-wrong-key.400.json", RequestRejected),
    ("litellm-proxy/07-rate-limit.429.json", RateLimited),
    ("litellm-proxy/08-context-window.400.json", ContextOverflow),
    ("litellm-proxy/09-internal-error.500.json", ServerError),
    ("litellm-proxy/10-no-messages.400.json", RequestRejected),
    ("litellm-proxy/13-rate-limit-stream.429.json", RateLimited),
    ("litellm-proxy/14-backend-down.500.json", ServerError),
    ("litellm-proxy/24-proxied-too-long.400.json", ContextOverflow),
    ("llama-server/00-while-loading.503.json", ServerError),
    ("llama-server/15-too-long.400.json", ContextOverflow),
    ("llama-server/16-too-long-stream.400.json", ContextOverflow),
    ("llama-server/18-bad-json.400.json", RequestRejected),
    ("llama-server/19-no-auth.401.json", AuthError),
    ("llama-server/20-wrong-key.401.json", AuthError),
    ("llama-server/27-no-messages.400.json", RequestRejected),
    ("llama-server/34-wrong-path.404.json", RequestRejected),
    ("llama-server/36-bad-tool-choice.400.json", RequestRejected),
    ("llama-server/37-bad-tools-type.500.json", ServerError),
    ("llama-server/38-bad-temperature-type.400.json", RequestRejected),
    ("llama-server/39-image-to-text-model.500.json", ServerError),
    ("llama-server/52-max-tokens-negative.400.json", RequestRejected),
    ("llama-server/56-tool-bad-arguments-history.500.json", ServerError),
    ("llama-server/60-empty-body.400.json", RequestRejected),
    ("llama-server/61-array-body.400.json", RequestRejected),
    ("llama-server/67-custom-grammar-with-tools.400.json", RequestRejected),
    ("llama-server/26-abort-mid-stream.200.sse", StreamInterrupted),
    ("llama-server/69-server-killed-mid-stream.200.sse", StreamInterrupted),
]

# A stream and the whole reply to the same request. Left out: the stream of the mocked calls of LiteLLM, which has none;
# the pair with logprobs, whose requests differ in max_tokens; and plain-template 10 and 11, where the model itself
# wrote two different texts.
PAIRS = [
    ("llama-server/01-plain", "llama-server/02-stream-usage"),
    ("llama-server/04-tools-required", "llama-server/05-tools-required-stream"),
    ("llama-server/06-tools-named", "llama-server/07-tools-named-stream"),
    ("llama-server/08-tools-auto", "llama-server/09-tools-auto-stream"),
    ("llama-server/10-parallel-required", "llama-server/11-parallel-required-stream"),
    ("llama-server/13-second-turn", "llama-server/14-second-turn-stream"),
    ("llama-server/21-length", "llama-server/22-length-stream"),
    ("llama-server/23-json-schema", "llama-server/24-json-schema-stream"),
    ("llama-server/44-tools-length-cut", "llama-server/45-tools-length-cut-stream"),
    ("llama-server-plain-template/04-tools-required", "llama-server-plain-template/05-tools-required-stream"),
    ("llama-server-plain-template/06-tools-named", "llama-server-plain-template/07-tools-named-stream"),
    ("llama-server-plain-template/08-tools-auto", "llama-server-plain-template/09-tools-auto-stream"),
    ("llama-server-plain-template/13-second-turn", "llama-server-plain-template/14-second-turn-stream"),
    ("llama-server-plain-template/44-tools-length-cut", "llama-server-plain-template/45-tools-length-cut-stream"),
    ("litellm-proxy/21-proxied-tools", "litellm-proxy/22-proxied-tools-stream"),
    ("llama-server/01-plain", "litellm-proxy/20-proxied-stream"),
    ("llama-server/10-parallel-required", "litellm-proxy/23-proxied-parallel-stream"),
]


def read(name: str, size: int = 1 << 20) -> ModelResponse:
    """The response of a recording; a stream is fed in pieces of `size` bytes."""
    wire = ChatWire("m", "custom", Quirks())
    body = (RECORDINGS / name).read_bytes()
    if (status := int(name.split(".")[-2])) >= 400:
        raise status_error(body, status=status)
    if name.endswith(".json"):
        return wire.decode(body, REQUEST)
    assembler = wire.assembler(REQUEST)
    events = [event for i in range(0, len(body), size) for event in assembler.feed(body[i : i + size])]
    *_, done = [*events, *assembler.end()]
    assert isinstance(done, ResponseDone)
    return done.response


@pytest.mark.parametrize(("name", "finish", "begins", "calls", "prompt", "completion"), REPLIES)
def test_a_recorded_reply(
    name: str, finish: str, begins: str, calls: int, prompt: int | None, completion: int | None
) -> None:
    response = read(name)
    assert (response.finish_reason, response.raw_finish_reason) == (finish, finish)
    assert response.text[:20] == begins
    assert len(response.tool_calls) == calls
    assert (response.usage.input_tokens, response.usage.output_tokens) == (prompt, completion)
    assert response.id is not None
    assert response.id.startswith("chatcmpl-")
    assert (response.notes, response.repairs) == ((), ())


@pytest.mark.parametrize(("name", "kind"), REFUSALS)
def test_a_recorded_refusal_or_break(name: str, kind: type[ModelError]) -> None:
    with pytest.raises(ModelError) as caught:
        read(name)
    assert type(caught.value) is kind


def test_no_recording_is_left_out() -> None:
    named = {row[0] for row in REPLIES} | {row[0] for row in REFUSALS}
    found = {str(path.relative_to(RECORDINGS)) for path in RECORDINGS.glob("*/*.*.*")}
    assert named == found


def comparable(response: ModelResponse) -> tuple[object, ...]:
    """A reply without what differs between two calls: made-up ids, and what the cache held."""
    calls = tuple(replace(call, id="") for call in response.tool_calls)
    message = AssistantMessage(response.message.content, calls)
    return message, response.finish_reason, response.usage.input_tokens, response.usage.output_tokens


@pytest.mark.parametrize(("whole", "stream"), PAIRS)
def test_a_stream_assembles_to_what_the_whole_reply_decodes_to(whole: str, stream: str) -> None:
    assert comparable(read(f"{stream}.200.sse")) == comparable(read(f"{whole}.200.json"))


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize(
    "name", ["llama-server/41-utf8-stream.200.sse", "litellm-proxy/22-proxied-tools-stream.200.sse"]
)
def test_the_size_of_the_chunks_does_not_matter(name: str, size: int) -> None:
    assert read(name, size) == read(name)


def test_raw_of_a_stream_has_the_form_of_a_whole_reply() -> None:
    raw = read("llama-server/05-tools-required-stream.200.sse").raw
    whole = json.loads((RECORDINGS / "llama-server/04-tools-required.200.json").read_bytes())
    assert raw is not None
    assert raw.keys() == whole.keys()
    assert raw["choices"][0].keys() == whole["choices"][0].keys()
    assert raw["object"] == "chat.completion"


def test_what_arrived_before_a_server_was_killed_is_in_the_error() -> None:
    with pytest.raises(StreamInterrupted) as caught:
        read("llama-server/69-server-killed-mid-stream.200.sse")
    assert caught.value.partial is not None
    assert caught.value.partial.text.startswith("1\n2\n3\n")


def test_arguments_cut_by_the_token_limit_are_there_with_the_reason() -> None:
    response = read("llama-server/44-tools-length-cut.200.json")
    assert response.finish_reason == "length"
    assert not response.tool_calls[0].arguments.endswith("}")
