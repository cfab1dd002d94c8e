"""Anthropic Messages, as the mock reads and writes it: POST /v1/messages, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentloop.mock.anthropic_checks import (
    check_count_request,
    check_messages_request,
    check_sampling_of_version,
    check_version,
)
from agentloop.mock.conversation import Call, Offer, Question, Reply, Turn, tokens_of
from agentloop.mock.dialect import Dialect, Rendering
from agentloop.shapes import as_dict, as_list

__all__ = ["COUNT_TOKENS", "MESSAGES"]

SIGNATURE = "bW9jayBzaWduYXR1cmU="

_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "pause": "pause_turn",
}
_ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def _read(body: Mapping[str, Any]) -> Question:
    """The question of a request that has passed the checks."""
    choice = as_dict(body.get("tool_choice"))
    offered = [_offer(tool) for tool in as_list(body.get("tools"))]
    tools = [] if choice.get("type") == "none" else offered
    if choice.get("type") == "tool":
        tools = [tool for tool in tools if tool.name == choice["name"]]
    system = body.get("system")
    turns = [Turn("system", _text(system))] if system else []
    for message in body["messages"]:
        turns += _turns(message)
    return Question(
        turns=tuple(turns),
        tools=tuple(tools),
        must_call=choice.get("type") in ("any", "tool"),
        parallel_calls=not choice.get("disable_parallel_tool_use"),
        output_schema=as_dict(as_dict(body.get("output_config")).get("format")).get("schema"),
        max_tokens=body.get("max_tokens"),
        stop=tuple(as_list(body.get("stop_sequences"))),
    )


def _turns(message: dict[str, Any]) -> Iterator[Turn]:
    """A user message holds the results first; each is a turn of its own, and so is the text after them."""
    blocks = (
        [{"type": "text", "text": message["content"]}] if isinstance(message["content"], str) else message["content"]
    )
    calls = tuple(
        Call(block["name"], json.dumps(block["input"], ensure_ascii=False), block["id"])
        for block in blocks
        if block["type"] == "tool_use"
    )
    for block in blocks:
        if block["type"] == "tool_result":
            yield Turn("tool", _text(block.get("content")), call_id=block["tool_use_id"])
    text = _text(blocks)
    if text or calls or not any(block["type"] == "tool_result" for block in blocks):
        yield Turn(message["role"], text, calls)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in as_list(content))


def _offer(tool: dict[str, Any]) -> Offer:
    return Offer(tool["name"], tool.get("description") or "", as_dict(tool.get("input_schema")))


# --- writing ---------------------------------------------------------------------------------------------------------


def _whole(reply: Reply, rendering: Rendering) -> dict[str, Any]:
    """The body of a reply that is not streamed."""
    return {
        **_head(rendering),
        "content": [block for block, _ in _blocks(reply)],
        "stop_reason": _STOP_REASONS.get(reply.finish_word, reply.finish_word),
        "stop_sequence": None,
        "usage": _usage(rendering.request, _output(reply)),
    }


def _streamed(reply: Reply, rendering: Rendering) -> list[bytes]:
    """The events of a streamed reply, each as its bytes."""
    return [
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in _events(reply, rendering)
    ]


def _refusal(body: Mapping[str, Any], status: int, request_id: str) -> dict[str, Any]:
    """An error in OpenAI's shape, in the one of this API."""
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    told = {"type": kind, "message": body["error"]["message"]}
    return {"type": "error", "error": told, "request_id": request_id}


def _count(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of /v1/messages/count_tokens, in the mock's own tokens."""
    asked = [request.get("system"), request.get("messages"), request.get("tools")]
    return {"input_tokens": len(tokens_of(json.dumps(asked, ensure_ascii=False)))}


def _head(rendering: Rendering) -> dict[str, Any]:
    return {"id": f"msg_{rendering.reply_id}", "type": "message", "role": "assistant", "model": rendering.model}


def _usage(request: Mapping[str, Any], output: int) -> dict[str, Any]:
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {**_count(request), **cache, "output_tokens": output}


def _output(reply: Reply) -> int:
    return sum(len(tokens_of(piece)) for _, piece in _blocks(reply)) + len(reply.calls)


def _blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], str]]:
    """Each block of a whole reply, and the text that it is streamed as."""
    if reply.reasoning:
        yield {"type": "thinking", "thinking": reply.reasoning, "signature": SIGNATURE}, reply.reasoning
    if reply.text:
        yield {"type": "text", "text": reply.text}, reply.text
    for call in reply.calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)}, call.arguments


def _input(call: Call) -> dict[str, Any]:
    """A whole reply has the arguments as an object: what a script broke, or a bound cut, is not shown."""
    try:
        return as_dict(json.loads(call.arguments))
    except ValueError:
        return {}


def _events(reply: Reply, rendering: Rendering) -> Iterator[dict[str, Any]]:
    begun: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(rendering.request, 0),
    }
    yield {"type": "message_start", "message": {**_head(rendering), **begun}}
    yield {"type": "ping"}
    for index, (block, text) in enumerate(_blocks(reply)):
        yield {"type": "content_block_start", "index": index, "content_block": _opened(block)}
        for delta in _deltas(block["type"], text):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = _STOP_REASONS.get(reply.finish_word, reply.finish_word)
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": _output(reply)}}
    yield {"type": "message_stop"}


def _opened(block: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) if key != "type" else value for key, value in block.items()}


def _deltas(kind: str, text: str) -> Iterator[dict[str, Any]]:
    name, field = {
        "text": ("text_delta", "text"),
        "thinking": ("thinking_delta", "thinking"),
        "tool_use": ("input_json_delta", "partial_json"),
    }[kind]
    for piece in tokens_of(text):
        yield {"type": name, field: piece}
    if kind == "thinking":
        yield {"type": "signature_delta", "signature": SIGNATURE}


MESSAGES = Dialect(
    "/messages",
    check_messages_request,
    _read,
    _whole,
    _streamed,
    check_headers=check_version,
    check_both=check_sampling_of_version,
    refusal=_refusal,
    id_header="request-id",
)
COUNT_TOKENS = replace(MESSAGES, path="/messages/count_tokens", check=check_count_request, count=_count)
