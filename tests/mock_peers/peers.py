"""The official `openai` and `anthropic` packages against a server that claims to speak their dialects.

Run with: peers.py BASE_URL KEY MODEL. Each check is a function; the first that fails ends the run with its traceback.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import anthropic
import openai

BASE_URL, KEY, MODEL = sys.argv[1:]
OPENAI = openai.OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)
ANTHROPIC = anthropic.Anthropic(base_url=BASE_URL.removesuffix("/v1"), api_key=KEY, max_retries=0)

PROMPT = "What is the weather in Tokyo?"
ANSWER = "In Tokyo it is 18.0 °C and cloudy."
RESULT = json.dumps({"city": "Tokyo", "celsius": 18.0, "sky": "cloudy"})
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ABOUT = {"name": "get_weather", "description": "The weather in a city."}
CHAT_TOOLS: list[Any] = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]
RESPONSES_TOOLS: list[Any] = [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}]
ANTHROPIC_TOOLS: list[Any] = [{**ABOUT, "input_schema": SCHEMA}]


# --- Chat Completions ------------------------------------------------------------------------------------------------


def chat_calls_a_tool_and_answers() -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    first = OPENAI.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS).choices[0]
    (call,) = first.message.tool_calls or []
    assert (first.finish_reason, call.function.arguments) == ("tool_calls", '{"city": "Tokyo"}')
    messages += [first.message, {"role": "tool", "tool_call_id": call.id, "content": RESULT}]
    second = OPENAI.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == (ANSWER, "stop")
    assert second.usage is not None
    assert second.usage.total_tokens > 0


def chat_streams_text_and_usage() -> None:
    messages: list[Any] = [{"role": "user", "content": "Hello"}]
    options: Any = {"include_usage": True}
    chunks = list(OPENAI.chat.completions.create(model=MODEL, messages=messages, stream=True, stream_options=options))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.startswith("Hello!")
    assert chunks[-1].usage is not None


def chat_streams_a_tool_call() -> None:
    with OPENAI.chat.completions.stream(
        model=MODEL, messages=[{"role": "user", "content": PROMPT}], tools=CHAT_TOOLS
    ) as stream:
        stream.until_done()
        (call,) = stream.get_final_completion().choices[0].message.tool_calls or []
    assert (call.function.name, call.function.arguments) == ("get_weather", '{"city": "Tokyo"}')


def chat_errors_have_their_classes() -> None:
    orphan: Any = [{"role": "tool", "tool_call_id": "x", "content": "y"}]
    error = raised(openai.BadRequestError, lambda: OPENAI.chat.completions.create(model=MODEL, messages=orphan))
    assert error.param == "messages[0].role"
    stranger = OPENAI.with_options(api_key="sk-wrong")
    raised(openai.AuthenticationError, lambda: stranger.chat.completions.create(model=MODEL, messages=orphan))


# --- Responses -------------------------------------------------------------------------------------------------------


def responses_calls_a_tool_and_answers() -> None:
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    first = OPENAI.responses.create(model=MODEL, input=items, tools=RESPONSES_TOOLS, store=False)
    (call,) = first.output
    assert call.type == "function_call"
    assert (first.status, call.arguments) == ("completed", '{"city": "Tokyo"}')
    items += [*first.output, {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}]
    second = OPENAI.responses.create(model=MODEL, input=items, tools=RESPONSES_TOOLS, store=False)
    assert second.output_text == ANSWER
    assert second.usage is not None
    assert second.usage.input_tokens_details.cached_tokens == 0


def responses_streams_text() -> None:
    with OPENAI.responses.stream(model=MODEL, input="Hello", store=False) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        assert stream.get_final_response().output_text == text
    assert text.startswith("Hello!")


def responses_streams_a_tool_call() -> None:
    with OPENAI.responses.stream(model=MODEL, input=PROMPT, tools=RESPONSES_TOOLS, store=False) as stream:
        stream.until_done()
        (call,) = stream.get_final_response().output
    assert call.type == "function_call"
    assert (call.name, call.arguments) == ("get_weather", '{"city": "Tokyo"}')


def responses_reasoning_goes_back() -> None:
    include: list[Any] = ["reasoning.encrypted_content"]
    first = OPENAI.responses.create(model=MODEL, input="Think about it", store=False, include=include)
    assert [item.type for item in first.output] == ["reasoning", "message"]
    items: list[Any] = [{"role": "user", "content": "Think"}, *first.output, {"role": "user", "content": "Hello"}]
    assert OPENAI.responses.create(model=MODEL, input=items, store=False).output_text.startswith("Hello!")


def responses_tells_a_cut_reply() -> None:
    cut = OPENAI.responses.create(model=MODEL, input="Hello", max_output_tokens=1, store=False)
    assert cut.incomplete_details is not None
    assert (cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")


def responses_errors_have_their_classes() -> None:
    orphan: Any = [{"type": "function_call_output", "call_id": "x", "output": "y"}]
    raised(openai.BadRequestError, lambda: OPENAI.responses.create(model=MODEL, input=orphan))
    raised(openai.BadRequestError, lambda: OPENAI.responses.create(model=MODEL, input="hi", previous_response_id="r"))


# --- Anthropic Messages ----------------------------------------------------------------------------------------------


def messages_calls_a_tool_and_answers() -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    first = ANTHROPIC.messages.create(model=MODEL, max_tokens=100, messages=messages, tools=ANTHROPIC_TOOLS)
    (call,) = first.content
    assert call.type == "tool_use"
    assert (first.stop_reason, call.input) == ("tool_use", {"city": "Tokyo"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = ANTHROPIC.messages.create(model=MODEL, max_tokens=100, messages=messages, tools=ANTHROPIC_TOOLS)
    (text,) = second.content
    assert text.type == "text"
    assert (text.text, second.stop_reason) == (ANSWER, "end_turn")
    assert second.usage.input_tokens > 0


def messages_streams_text() -> None:
    messages: list[Any] = [{"role": "user", "content": "Hello"}]
    with ANTHROPIC.messages.stream(model=MODEL, max_tokens=100, messages=messages) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text.startswith("Hello!")
    assert (final.stop_reason, final.usage.output_tokens > 0) == ("end_turn", True)


def messages_streams_a_tool_call() -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    with ANTHROPIC.messages.stream(model=MODEL, max_tokens=100, messages=messages, tools=ANTHROPIC_TOOLS) as stream:
        (call,) = stream.get_final_message().content
    assert call.type == "tool_use"
    assert (call.name, call.input) == ("get_weather", {"city": "Tokyo"})


def messages_thinking_goes_back() -> None:
    messages: list[Any] = [{"role": "user", "content": "Think about it"}]
    with ANTHROPIC.messages.stream(model=MODEL, max_tokens=100, messages=messages) as stream:
        first = stream.get_final_message()
    assert [block.type for block in first.content] == ["thinking", "text"]
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": "Hello"}]
    assert ANTHROPIC.messages.create(model=MODEL, max_tokens=100, messages=messages).stop_reason == "end_turn"


def messages_counts_tokens() -> None:
    counted = ANTHROPIC.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "Hello"}])
    answered = ANTHROPIC.messages.create(model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "Hello"}])
    assert counted.input_tokens == answered.usage.input_tokens


def messages_errors_have_their_classes() -> None:
    orphan: Any = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]}]
    create: Any = ANTHROPIC.messages.create
    error = raised(anthropic.BadRequestError, lambda: create(model=MODEL, max_tokens=9, messages=orphan))
    assert "unexpected `tool_use_id`" in error.message
    stranger: Any = ANTHROPIC.with_options(api_key="sk-wrong").messages.create
    raised(anthropic.AuthenticationError, lambda: stranger(model=MODEL, max_tokens=9, messages=orphan))


def raised(kind: type[Exception], call: Callable[[], object]) -> Any:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def main() -> None:
    prefixes = ("chat_", "responses_", "messages_")
    checks = [check for name, check in globals().items() if name.startswith(prefixes)]
    for check in checks:
        check()
        print(f"ok  {check.__name__.replace('_', ' ')}")
    print(f"{len(checks)} checks with openai {openai.__version__} and anthropic {anthropic.__version__}")


if __name__ == "__main__":
    main()
