"""The checks of a request to Anthropic Messages, as strict as the original documents them.

Stricter in one thing: the original joins neighbours of one role, some of its copies refuse them, and so does this.
Error bodies are in OpenAI's shape, like those of the other dialects; the dialect's `refusal` puts them into this one's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from agentloop.mock.refusal import Refused, a_list, an_object, error_body, one_of, optional, refuse, required, text

__all__ = ["check_count_request", "check_messages_request", "check_sampling_of_version", "check_version"]

VERSIONS = ("2023-06-01", "2026-10-21")

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SAMPLING = frozenset({"temperature", "top_p", "top_k"})
_COUNTED = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control", "speed"}
)
_ANSWERED = frozenset(
    {"max_tokens", "stream", "stop_sequences", "metadata", "service_tier", "container", "inference_geo"}
)
_BLOCKS = {
    "user": ("text", "image", "document", "tool_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
    "tool_result": ("text", "image", "document"),
}


def check_version(headers: Mapping[str, str]) -> dict[str, Any] | None:
    """The error body for a missing or unknown version, or None. Header names are in lower case."""
    version = headers.get("anthropic-version")
    if version in VERSIONS:
        return None
    return error_body(f"anthropic-version: header is required; it must be {' or '.join(VERSIONS)}, not {version!r}")


def check_sampling_of_version(body: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any] | None:
    """The error body for fields that the version in the headers has no more, or None."""
    gone = sorted(body.keys() & _SAMPLING) if headers.get("anthropic-version") == "2026-10-21" else []
    return error_body(f"{gone[0]}: Extra inputs are not permitted", param=gone[0]) if gone else None


def check_messages_request(body: Any) -> dict[str, Any] | None:
    """The error body that a strict server answers with status 400, or None when it would accept the request."""
    try:
        request = an_object(body, "body")
        _check_head(request, _COUNTED | _ANSWERED | _SAMPLING)
        required(request, "max_tokens", "max_tokens")
        optional(request, "max_tokens", int, 0)
        _check_sampling(request)
        _check_thinking(request)
        _check_conversation(request)
    except Refused as refused:
        return refused.body
    return None


def check_count_request(body: Any) -> dict[str, Any] | None:
    """The same for a request to count tokens, which takes fewer fields."""
    try:
        request = an_object(body, "body")
        _check_head(request, _COUNTED)
        _check_conversation(request)
    except Refused as refused:
        return refused.body
    return None


def _check_head(request: dict[str, Any], fields: frozenset[str]) -> None:
    if unknown := sorted(request.keys() - fields):
        refuse(f"{unknown[0]}: Extra inputs are not permitted", unknown[0])
    text(required(request, "model", "model"), "model")


def _check_conversation(request: dict[str, Any]) -> None:
    names = _check_tools(request)
    _check_choice(request, names)
    _check_system(request.get("system"))
    _check_history(a_list(required(request, "messages", "messages"), "messages", least=1))
    if (found := _breakpoints(request)) > 4:
        refuse(f"A maximum of 4 blocks with cache_control may be provided. Found {found}.", "messages")


def _check_sampling(request: dict[str, Any]) -> None:
    optional(request, "temperature", float, 0, 1)
    optional(request, "top_p", float, 0, 1)
    optional(request, "top_k", int, 0)
    optional(request, "stream", bool)
    for i, word in enumerate(a_list(request.get("stop_sequences") or [], "stop_sequences")):
        if not text(word, f"stop_sequences.{i}").strip():
            refuse(f"stop_sequences.{i}: each stop sequence must contain non-whitespace", "stop_sequences")


def _check_thinking(request: dict[str, Any]) -> None:
    thinking = an_object(request.get("thinking") or {"type": "disabled"}, "thinking")
    kinds = ("enabled", "disabled", "adaptive", "between_tools")
    if one_of(required(thinking, "type", "thinking.type"), kinds, "thinking.type") != "enabled":
        return
    required(thinking, "budget_tokens", "thinking.budget_tokens")
    optional(thinking, "budget_tokens", int, 1024)
    if thinking["budget_tokens"] >= request["max_tokens"]:
        refuse("`max_tokens` must be greater than `thinking.budget_tokens`.", "max_tokens")


def _check_tools(request: dict[str, Any]) -> set[str]:
    names: set[str] = set()
    for i, item in enumerate(a_list(request.get("tools") or [], "tools")):
        tool, path = an_object(item, f"tools.{i}"), f"tools.{i}"
        name = text(required(tool, "name", f"{path}.name"), f"{path}.name")
        if not _NAME.fullmatch(name):
            refuse(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'", f"{path}.name")
        if name in names:
            refuse("tools: Tool names must be unique.", "tools")
        names.add(name)
        if tool.get("type") in (None, "custom"):
            path = f"{path}.input_schema"
            schema = an_object(required(tool, "input_schema", path), path)
            if schema.get("type") != "object":
                refuse(f"{path}.type: Input should be 'object'", path)
    return names


def _check_choice(request: dict[str, Any], names: set[str]) -> None:
    if request.get("tool_choice") is None:
        return
    choice = an_object(request["tool_choice"], "tool_choice")
    kind = one_of(required(choice, "type", "tool_choice.type"), ("auto", "any", "tool", "none"), "tool_choice.type")
    if not names:
        refuse("tool_choice may only be specified while providing tools.", "tool_choice")
    if kind == "tool" and text(required(choice, "name", "tool_choice.name"), "tool_choice.name") not in names:
        refuse(f"Tool '{choice['name']}' not found in provided tools", "tool_choice")


def _check_system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    for i, item in enumerate(a_list(system, "system")):
        block = an_object(item, f"system.{i}")
        one_of(required(block, "type", f"system.{i}.type"), ("text",), f"system.{i}.type")
        _check_text(block, f"system.{i}")


def _breakpoints(value: Any) -> int:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return (fields.get("cache_control") is not None) + sum(map(_breakpoints, fields.values()))
    return sum(map(_breakpoints, cast("list[Any]", value))) if isinstance(value, list) else 0


# --- messages --------------------------------------------------------------------------------------------------------


def _check_history(messages: list[Any]) -> None:
    waiting: list[str] = []
    previous = ""
    for i, item in enumerate(messages):
        message, path = an_object(item, f"messages.{i}"), f"messages.{i}"
        role = one_of(required(message, "role", f"{path}.role"), ("user", "assistant"), f"{path}.role")
        if i == 0 and role != "user":
            refuse('messages: first message must use the "user" role', f"{path}.role")
        if role == previous:
            refuse(
                'messages: roles must alternate between "user" and "assistant", but found multiple '
                f'"{role}" roles in a row',
                f"{path}.role",
            )
        blocks = _blocks(required(message, "content", f"{path}.content"), role, path)
        if role == "user":
            _check_results(blocks, waiting, path)
            waiting = []
        else:
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        previous = role
    if waiting:
        _refuse_unanswered(waiting, f"messages.{len(messages)}")


def _blocks(content: Any, role: str, path: str) -> list[dict[str, Any]]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [an_object(item, f"{path}.content.{k}") for k, item in enumerate(a_list(content, path, least=1))]
    for k, block in enumerate(blocks):
        where = f"{path}.content.{k}"
        kind = one_of(required(block, "type", f"{where}.type"), _BLOCKS[role], f"{where}.type")
        _check_block(kind, block, where)
    return blocks


def _check_block(kind: str, block: dict[str, Any], path: str) -> None:
    match kind:
        case "text":
            _check_text(block, path)
        case "image" | "document":
            source = an_object(required(block, "source", f"{path}.source"), f"{path}.source")
            kinds = ("base64", "url", "file") if kind == "image" else ("base64", "url", "file", "text", "content")
            one_of(required(source, "type", f"{path}.source.type"), kinds, f"{path}.source.type")
        case "tool_use":
            _check_id(block, "id", path)
            if not _NAME.fullmatch(text(required(block, "name", f"{path}.name"), f"{path}.name")):
                refuse(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'", f"{path}.name")
            an_object(required(block, "input", f"{path}.input"), f"{path}.input")
        case "thinking":
            text(required(block, "thinking", f"{path}.thinking"), f"{path}.thinking")
            if not text(required(block, "signature", f"{path}.signature"), f"{path}.signature"):
                refuse(f"{path}: Invalid `signature` in `thinking` block", path)
        case "redacted_thinking":
            text(required(block, "data", f"{path}.data"), f"{path}.data")
        case _:
            _check_id(block, "tool_use_id", path)
            optional(block, "is_error", bool)
            content = block.get("content")
            if content is not None and not isinstance(content, str):
                _blocks(content, "tool_result", path)


def _check_text(block: dict[str, Any], path: str) -> None:
    if not text(required(block, "text", f"{path}.text"), f"{path}.text").strip():
        refuse("messages: text content blocks must contain non-whitespace text", path)


def _check_id(block: dict[str, Any], key: str, path: str) -> None:
    if not _ID.fullmatch(text(required(block, key, f"{path}.{key}"), f"{path}.{key}")):
        refuse(f"{path}.{key}: String should match pattern '^[a-zA-Z0-9_-]+$'", f"{path}.{key}")


def _check_results(blocks: list[dict[str, Any]], waiting: list[str], path: str) -> None:
    """Every call of the turn before is answered here, once, and before anything else is said."""
    left, spoken = list(waiting), False
    for k, block in enumerate(blocks):
        if block["type"] != "tool_result":
            spoken = True
            continue
        call_id = block["tool_use_id"]
        if call_id not in left:
            refuse(
                f"{path}.content.{k}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
                f"{path}.content.{k}",
            )
        if spoken:
            _refuse_unanswered([call_id], path)
        left.remove(call_id)
    if left:
        _refuse_unanswered(left, path)


def _refuse_unanswered(ids: list[str], path: str) -> None:
    refuse(
        f"{path}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(ids)}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        path,
    )
