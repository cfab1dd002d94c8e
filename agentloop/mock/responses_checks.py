"""The checks of a request to the Responses API, as strict as the original documents them.

The mock keeps nothing between requests, so that whatever refers to something kept is refused.
"""

from __future__ import annotations

import re
from typing import Any

from agentloop.mock.refusal import Refused, a_list, an_object, one_of, optional, refuse, required, text
from agentloop.shapes import as_dict

__all__ = ["check_responses_request"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# fmt: off
_FIELDS = frozenset({
    "model", "input", "instructions", "max_output_tokens", "temperature", "top_p", "top_logprobs", "tools",
    "tool_choice", "parallel_tool_calls", "max_tool_calls", "reasoning", "text", "store", "include",
    "previous_response_id", "conversation", "stream", "stream_options", "background", "truncation",
    "context_management", "metadata", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "service_tier", "moderation", "prompt",
})
# fmt: on
_NUMBERS: tuple[tuple[str, type, float | None, float | None], ...] = (
    ("temperature", float, 0, 2),
    ("top_p", float, 0, 1),
    ("max_output_tokens", int, 1, None),
    ("top_logprobs", int, 0, 20),
)
_OUTPUTS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
_ITEMS = ("message", "reasoning", *_OUTPUTS, *_OUTPUTS.values())


def check_responses_request(body: Any) -> dict[str, Any] | None:
    """The error body that a strict server answers with status 400, or None when it would accept the request."""
    try:
        _check(an_object(body, "body"))
    except Refused as refused:
        return refused.body
    return None


def _check(request: dict[str, Any]) -> None:
    if unknown := sorted(request.keys() - _FIELDS):
        refuse(f"Unknown parameter: '{unknown[0]}'.", unknown[0], "unknown_parameter")
    if not text(required(request, "model", "model"), "model"):
        refuse("You must provide a model parameter.", "model")
    for key, kind, low, high in _NUMBERS:
        optional(request, key, kind, low, high)
    for key in ("stream", "store", "parallel_tool_calls", "background"):
        optional(request, key, bool)
    for key in ("reasoning", "text", "metadata", "stream_options"):
        optional(request, key, dict)
    for key in ("previous_response_id", "conversation"):
        if request.get(key) is not None:
            refuse(f"{key} '{request[key]}' not found.", key, f"{key}_not_found")
    if request.get("stream_options") is not None and not request.get("stream"):
        refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    _check_choice(request, _check_tools(request))
    _check_format(as_dict(request.get("text")).get("format"))
    _check_input(request)


def _check_tools(request: dict[str, Any]) -> set[str]:
    names: set[str] = set()
    for i, item in enumerate(a_list(request.get("tools") or [], "tools")):
        tool, path = an_object(item, f"tools[{i}]"), f"tools[{i}]"
        kind = text(required(tool, "type", f"{path}.type"), f"{path}.type")
        if kind not in ("function", "custom"):
            continue
        names.add(_check_name(required(tool, "name", f"{path}.name"), f"{path}.name"))
        schema = tool.get("parameters")
        if kind == "function" and schema and an_object(schema, f"{path}.parameters").get("type") != "object":
            message = f"Invalid schema for function '{tool['name']}': schema must have type 'object'."
            refuse(message, f"{path}.parameters", "invalid_function_parameters")
    return names


def _check_name(value: Any, path: str) -> str:
    name = text(value, path)
    if not _NAME.fullmatch(name):
        refuse(f"Invalid '{path}': the name does not match '^[a-zA-Z0-9_-]{{1,64}}$'.", path, "invalid_value")
    return name


def _check_choice(request: dict[str, Any], names: set[str]) -> None:
    choice = request.get("tool_choice")
    if choice is None:
        return
    if isinstance(choice, str):
        one_of(choice, ("none", "auto", "required"), "tool_choice")
        return
    chosen = an_object(choice, "tool_choice")
    if text(required(chosen, "type", "tool_choice.type"), "tool_choice.type") in ("function", "custom"):
        name = text(required(chosen, "name", "tool_choice.name"), "tool_choice.name")
        if name not in names:
            refuse(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def _check_format(wanted: Any) -> None:
    if wanted is None:
        return
    path = "text.format"
    form = an_object(wanted, path)
    kinds = ("text", "json_object", "json_schema")
    if one_of(required(form, "type", f"{path}.type"), kinds, f"{path}.type") == "json_schema":
        _check_name(required(form, "name", f"{path}.name"), f"{path}.name")
        an_object(required(form, "schema", f"{path}.schema"), f"{path}.schema")


# --- input -----------------------------------------------------------------------------------------------------------


def _check_input(request: dict[str, Any]) -> None:
    given = request.get("input")
    if given is None and request.get("instructions"):
        return
    if isinstance(given, str):
        return
    items = [
        an_object(item, f"input[{i}]") for i, item in enumerate(a_list(required(request, "input", "input"), "input"))
    ]
    if not items and not request.get("instructions"):
        refuse("Invalid 'input': empty array. Expected at least 1 item.", "input", "empty_array")
    waiting: dict[str, str] = {}  # id of a call that lacks its output, and the type of the call
    for i, item in enumerate(items):
        path = f"input[{i}]"
        kind = one_of(item.get("type", "message"), _ITEMS, f"{path}.type")
        if kind == "message":
            _check_message(item, path)
        elif kind == "reasoning":
            _check_reasoning(item, path, items[i + 1] if i + 1 < len(items) else {})
        elif kind in _OUTPUTS:
            _check_output(item, kind, waiting, path)
        else:
            _check_call(item, kind, path)
            waiting[item["call_id"]] = kind
    for call_id in waiting:
        refuse(f"No tool output found for function call {call_id}.", "input")


def _check_message(item: dict[str, Any], path: str) -> None:
    roles = ("user", "assistant", "system", "developer")
    role = one_of(required(item, "role", f"{path}.role"), roles, f"{path}.role")
    content = required(item, "content", f"{path}.content")
    if isinstance(content, str):
        return
    kinds = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image", "input_file")
    _check_parts(content, kinds, f"{path}.content")


def _check_parts(content: Any, kinds: tuple[str, ...], path: str) -> None:
    for k, item in enumerate(a_list(content, path)):
        part, where = an_object(item, f"{path}[{k}]"), f"{path}[{k}]"
        kind = one_of(required(part, "type", f"{where}.type"), kinds, f"{where}.type")
        if kind in ("input_text", "output_text"):
            text(required(part, "text", f"{where}.text"), f"{where}.text")
        elif kind == "refusal":
            text(required(part, "refusal", f"{where}.refusal"), f"{where}.refusal")
        elif kind == "input_image" and not (part.get("image_url") or part.get("file_id")):
            refuse(f"Missing required parameter: '{where}.image_url'.", where, "missing_required_parameter")


def _check_reasoning(item: dict[str, Any], path: str, following: dict[str, Any]) -> None:
    item_id = text(required(item, "id", f"{path}.id"), f"{path}.id")
    a_list(required(item, "summary", f"{path}.summary"), f"{path}.summary")
    kind = following.get("type", "message")
    if kind in _OUTPUTS or (kind == "message" and following.get("role") != "assistant"):
        refuse(f"Item '{item_id}' of type 'reasoning' was provided without its required following item.", "input")


def _check_call(item: dict[str, Any], kind: str, path: str) -> None:
    call_id = text(required(item, "call_id", f"{path}.call_id"), f"{path}.call_id")
    if not call_id:
        refuse(f"Invalid '{path}.call_id': empty string.", f"{path}.call_id", "empty_string")
    _check_name(required(item, "name", f"{path}.name"), f"{path}.name")
    field = "arguments" if kind == "function_call" else "input"
    text(required(item, field, f"{path}.{field}"), f"{path}.{field}")


def _check_output(item: dict[str, Any], kind: str, waiting: dict[str, str], path: str) -> None:
    call_id = text(required(item, "call_id", f"{path}.call_id"), f"{path}.call_id")
    if waiting.pop(call_id, None) != _OUTPUTS[kind]:
        refuse(f"No tool call found for function call output with call_id {call_id}.", "input")
    output = required(item, "output", f"{path}.output")
    if not isinstance(output, str):
        _check_parts(output, ("input_text", "input_image", "input_file"), f"{path}.output")
