"""The checks of a Chat Completions history: roles, shapes of content, and the pairing of calls with their results."""

from __future__ import annotations

from typing import Any, cast

from agentloop.mock.refusal import a_list, a_name, an_object, one_of, refuse, required, text

__all__ = ["check_messages"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}


def check_messages(messages: list[Any]) -> None:
    """Raise Refused for the first message that a strict server does not accept."""
    waiting: list[str] = []  # ids of calls that still lack their result
    seen_call = -1  # index of the assistant message that made them
    for i, item in enumerate(messages):
        path = f"messages[{i}]"
        message = an_object(item, path)
        role = one_of(required(message, "role", f"{path}.role"), _ROLES, f"{path}.role")
        if role == "tool":
            _check_result(message, path, waiting)
            continue
        _check_answered(waiting, seen_call)
        waiting, seen_call = _check_message(message, role, path), i
    _check_answered(waiting, seen_call)


def _check_message(message: dict[str, Any], role: str, path: str) -> list[str]:
    """Check a message that is no tool result; the ids of the calls that it makes."""
    if message.get("name") is not None:
        text(message["name"], f"{path}.name")
    if role == "function":
        text(required(message, "name", f"{path}.name"), f"{path}.name")
        text(required(message, "content", f"{path}.content"), f"{path}.content")
        return []
    ids = _check_calls(message, path) if role == "assistant" else []
    content = message.get("content")
    if content is None and role == "assistant":
        if not ids and not any(message.get(key) for key in ("function_call", "refusal", "audio")):
            refuse(
                f"Invalid '{path}': an assistant message needs content or 'tool_calls'; it has neither.",
                f"{path}.content",
                "invalid_value",
            )
        return ids
    _check_content(required(message, "content", f"{path}.content"), role, f"{path}.content")
    return ids


def _check_content(content: Any, role: str, path: str) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        found = "null" if content is None else type(cast("object", content)).__name__
        refuse(
            f"Invalid type for '{path}': expected one of a string or array of objects, but got {found} instead.",
            path,
            "invalid_type",
        )
    for i, item in enumerate(a_list(cast("Any", content), path, least=1)):
        part = an_object(item, f"{path}[{i}]")
        kind = one_of(required(part, "type", f"{path}[{i}].type"), _PARTS[role], f"{path}[{i}].type")
        inner = required(part, kind, f"{path}[{i}].{kind}")
        if kind in ("text", "refusal"):
            text(inner, f"{path}[{i}].{kind}")
        else:
            _check_media(kind, an_object(inner, f"{path}[{i}].{kind}"), f"{path}[{i}].{kind}")


def _check_media(kind: str, inner: dict[str, Any], path: str) -> None:
    if kind == "image_url":
        url = text(required(inner, "url", f"{path}.url"), f"{path}.url")
        if not url.startswith(("https://", "http://", "data:image/")):
            message = f"Invalid '{path}.url': expected a web address or a data URL of an image."
            refuse(message, f"{path}.url", "invalid_image_url")
        if inner.get("detail") is not None:
            one_of(inner["detail"], ("auto", "low", "high", "original"), f"{path}.detail")
    elif kind == "input_audio":
        text(required(inner, "data", f"{path}.data"), f"{path}.data")
        one_of(required(inner, "format", f"{path}.format"), ("wav", "mp3"), f"{path}.format")
    elif not (inner.get("file_id") or inner.get("file_data")):
        refuse(f"Missing required parameter: '{path}.file_id'.", f"{path}.file_id", "missing_required_parameter")


def _check_calls(message: dict[str, Any], path: str) -> list[str]:
    if message.get("tool_calls") is None:
        return []
    ids: list[str] = []
    for k, item in enumerate(a_list(message["tool_calls"], f"{path}.tool_calls", least=1)):
        where = f"{path}.tool_calls[{k}]"
        call = an_object(item, where)
        call_id = text(required(call, "id", f"{where}.id"), f"{where}.id")
        if not call_id or call_id in ids:
            problem = f"the id '{call_id}' occurs twice in one message" if call_id else "the id is empty"
            refuse(f"Invalid '{where}.id': {problem}.", f"{where}.id", "invalid_value")
        kind = one_of(required(call, "type", f"{where}.type"), ("function", "custom"), f"{where}.type")
        inner = an_object(required(call, kind, f"{where}.{kind}"), f"{where}.{kind}")
        a_name(required(inner, "name", f"{where}.{kind}.name"), f"{where}.{kind}.name")
        field = "arguments" if kind == "function" else "input"
        text(required(inner, field, f"{where}.{kind}.{field}"), f"{where}.{kind}.{field}")
        ids.append(call_id)
    return ids


def _check_result(message: dict[str, Any], path: str, waiting: list[str]) -> None:
    call_id = text(required(message, "tool_call_id", f"{path}.tool_call_id"), f"{path}.tool_call_id")
    _check_content(required(message, "content", f"{path}.content"), "tool", f"{path}.content")
    if call_id not in waiting:
        refuse(
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
            f"'tool_calls'; no open call has the id '{call_id}'.",
            f"{path}.role",
        )
    waiting.remove(call_id)


def _check_answered(waiting: list[str], index: int) -> None:
    if waiting:
        refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            f"messages[{index}].role",
        )
