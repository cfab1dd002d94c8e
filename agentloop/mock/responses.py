"""The Responses API, as the mock reads and writes it: POST /responses, whole and streamed."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from agentloop.mock.conversation import Call, Offer, Question, Reply, Turn, tokens_of
from agentloop.mock.dialect import Dialect, Rendering
from agentloop.mock.responses_checks import check_responses_request
from agentloop.shapes import as_dict, as_list

__all__ = ["RESPONSES"]

ENCRYPTED = "bW9jayByZWFzb25pbmc="


def _read(body: Mapping[str, Any]) -> Question:
    """The question of a request that has passed the checks."""
    given: Any = body.get("input") or []
    items: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else given
    turns = [Turn("system", body["instructions"])] if body.get("instructions") else []
    for item in items:
        _add_turn(turns, item)
    tools = [_offer(tool) for tool in as_list(body.get("tools")) if tool["type"] in ("function", "custom")]
    choice: Any = body.get("tool_choice")
    if isinstance(choice, dict):
        tools = [tool for tool in tools if tool.name == as_dict(choice).get("name", tool.name)]
    return Question(
        turns=tuple(turns),
        tools=() if choice == "none" else tuple(tools),
        must_call=choice == "required" or isinstance(choice, dict),
        parallel_calls=body.get("parallel_tool_calls") is not False,
        output_schema=_output_schema(as_dict(as_dict(body.get("text")).get("format"))),
        max_tokens=body.get("max_output_tokens"),
    )


def _add_turn(turns: list[Turn], item: dict[str, Any]) -> None:
    """Items of the model that follow each other are one turn."""
    match item.get("type", "message"):
        case "message":
            role = "system" if item["role"] == "developer" else item["role"]
            _add(turns, Turn(role, _text(item["content"])))
        case "function_call":
            _add(turns, Turn("assistant", calls=(Call(item["name"], item["arguments"], item["call_id"]),)))
        case "custom_tool_call":
            _add(turns, Turn("assistant", calls=(Call(item["name"], item["input"], item["call_id"]),)))
        case "function_call_output" | "custom_tool_call_output":
            turns.append(Turn("tool", _text(item["output"]), call_id=item["call_id"]))
        case _:
            pass


def _add(turns: list[Turn], turn: Turn) -> None:
    last = turns[-1] if turns else None
    if turn.role == "assistant" and last is not None and last.role == "assistant":
        turns[-1] = Turn("assistant", last.text + turn.text, last.calls + turn.calls)
    else:
        turns.append(turn)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in as_list(content))


def _offer(tool: dict[str, Any]) -> Offer:
    return Offer(tool["name"], tool.get("description") or "", as_dict(tool.get("parameters")))


def _output_schema(form: dict[str, Any]) -> dict[str, Any] | None:
    if form.get("type") == "json_schema":
        return as_dict(form["schema"])
    return {"type": "object"} if form.get("type") == "json_object" else None


# --- writing ---------------------------------------------------------------------------------------------------------


def _whole(reply: Reply, rendering: Rendering) -> dict[str, Any]:
    """The body of a reply that is not streamed."""
    return _response(reply, rendering, list(_items(reply, rendering)))


def _streamed(reply: Reply, rendering: Rendering) -> list[bytes]:
    """The events of a streamed reply, each as its bytes."""
    numbers = itertools.count()
    events: list[bytes] = []
    for event in _events(reply, rendering):
        data = json.dumps({**event, "sequence_number": next(numbers)}, ensure_ascii=False)
        events.append(f"event: {event['type']}\ndata: {data}\n\n".encode())
    return events


def _response(reply: Reply, rendering: Rendering, output: list[Any], status: str = "") -> dict[str, Any]:
    request = rendering.request
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reply.finish_word)
    done = status or ("incomplete" if cut else "completed")
    return {
        "id": f"resp_{rendering.reply_id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": done,
        "model": rendering.model,
        "error": None,
        "incomplete_details": {"reason": cut} if done == "incomplete" else None,
        "instructions": request.get("instructions"),
        "metadata": {},
        "output": output,
        "parallel_tool_calls": request.get("parallel_tool_calls", True) is not False,
        "previous_response_id": None,
        "store": bool(request.get("store", True)),
        "temperature": request.get("temperature"),
        "text": request.get("text") or {"format": {"type": "text"}},
        "tool_choice": request.get("tool_choice") or "auto",
        "tools": as_list(request.get("tools")),
        "top_p": request.get("top_p"),
        "usage": None if status else _usage(reply, request),
    }


def _usage(reply: Reply, request: Mapping[str, Any]) -> dict[str, Any]:
    """Counted in the mock's own tokens."""
    asked = [request.get("instructions"), request.get("input"), request.get("tools")]
    prompt = len(tokens_of(json.dumps(asked, ensure_ascii=False)))
    reasoning = len(tokens_of(reply.reasoning))
    spoken = len(tokens_of(reply.text)) + sum(1 + len(tokens_of(call.arguments)) for call in reply.calls)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": spoken + reasoning,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + spoken + reasoning,
    }


def _items(reply: Reply, rendering: Rendering) -> Iterator[dict[str, Any]]:
    reply_id = rendering.reply_id
    status = "incomplete" if reply.finish_word == "length" else "completed"
    if reply.reasoning:
        thought = [{"type": "reasoning_text", "text": reply.reasoning}]
        encrypted = "reasoning.encrypted_content" in as_list(rendering.request.get("include"))
        item = {"type": "reasoning", "id": f"rs_{reply_id}", "summary": [], "content": thought}
        yield {**item, "encrypted_content": ENCRYPTED} if encrypted else item
    if reply.text or not reply.calls:
        content: list[dict[str, Any]] = [{"type": "output_text", "text": reply.text, "annotations": []}]
        yield {"type": "message", "id": f"msg_{reply_id}", "role": "assistant", "status": status, "content": content}
    for place, call in enumerate(reply.calls):
        item = {"type": "function_call", "id": f"fc_{reply_id}_{place}", "call_id": call.id, "name": call.name}
        yield {**item, "arguments": call.arguments, "status": status}


def _events(reply: Reply, rendering: Rendering) -> Iterator[dict[str, Any]]:
    begun = _response(reply, rendering, [], "in_progress")
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    items = list(_items(reply, rendering))
    for index, item in enumerate(items):
        opened = {**item, "status": "in_progress"}
        opened |= {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        yield {"type": "response.output_item.added", "output_index": index, "item": opened}
        place = {"item_id": item["id"], "output_index": index}
        yield from ({**event, **place} for event in _item_events(item))
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    response = _response(reply, rendering, items)
    yield {"type": f"response.{response['status']}", "response": response}


def _item_events(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if item["type"] == "function_call":
        name = "response.function_call_arguments"
        yield from ({"type": f"{name}.delta", "delta": piece} for piece in tokens_of(item["arguments"]))
        yield {"type": f"{name}.done", "arguments": item["arguments"], "name": item["name"]}
        return
    for index, part in enumerate(item["content"]):
        name, more = f"response.{part['type']}", {"content_index": index}
        logprobs: dict[str, Any] = {"logprobs": []} if part["type"] == "output_text" else {}
        yield {"type": "response.content_part.added", "part": {**part, "text": ""}, **more}
        yield from ({"type": f"{name}.delta", "delta": piece, **logprobs, **more} for piece in tokens_of(part["text"]))
        yield {"type": f"{name}.done", "text": part["text"], **logprobs, **more}
        yield {"type": "response.content_part.done", "part": part, **more}


RESPONSES = Dialect("/responses", check_responses_request, _read, _whole, _streamed)
