"""The checks of a Chat Completions request, as strict as the originals document them.

A pure function: the body of the 400, or None. Where vendors differ, OpenAI's rule holds (its published API description,
and the wordings that its errors are known by). Fields that are not known here are accepted: other vendors have them.
`arguments` of a call in the history must be a string, but may hold anything: a model wrote it, and it goes back as it
was.
"""

from __future__ import annotations

import json
from typing import Any, cast

from agentloop.mock.history_checks import check_messages
from agentloop.mock.refusal import Refused, a_list, a_name, an_object, one_of, optional, refuse, required, text

__all__ = ["check_chat_request"]

_NUMBERS: tuple[tuple[str, type, float | None, float | None], ...] = (
    ("temperature", float, 0, 2),
    ("top_p", float, 0, 1),
    ("frequency_penalty", float, -2, 2),
    ("presence_penalty", float, -2, 2),
    ("max_tokens", int, 1, None),
    ("max_completion_tokens", int, 1, None),
    ("n", int, 1, 128),
    ("seed", int, None, None),
    ("top_logprobs", int, 0, 20),
)
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def check_chat_request(body: Any) -> dict[str, Any] | None:
    """The error body that a strict server answers with status 400, or None when it would accept the request."""
    try:
        _check(body)
    except Refused as refused:
        return refused.body
    return None


def _check(body: Any) -> None:
    if not isinstance(body, dict):
        refuse("The body of a request must be a JSON object.", None)
    request = cast("dict[str, Any]", body)
    if not text(required(request, "model", "model"), "model"):
        refuse("You must provide a model parameter.", "model")
    _check_fields(request)
    names = _check_tools(request)
    _check_tool_choice(request, names)
    check_messages(a_list(required(request, "messages", "messages"), "messages", least=1))
    _check_response_format(request)


def _check_fields(request: dict[str, Any]) -> None:
    for key, kind, low, high in _NUMBERS:
        optional(request, key, kind, low, high)
    for key in ("stream", "logprobs", "store", "parallel_tool_calls"):
        optional(request, key, bool)
    for key in ("stream_options", "logit_bias", "metadata"):
        optional(request, key, dict)
    if request.get("reasoning_effort") is not None:
        one_of(request["reasoning_effort"], _EFFORTS, "reasoning_effort")
    if request.get("max_tokens") is not None and request.get("max_completion_tokens") is not None:
        refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", "max_tokens")
    if request.get("stream_options") is not None and not request.get("stream"):
        refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if request.get("top_logprobs") is not None and not request.get("logprobs"):
        refuse("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", "top_logprobs")
    if request.get("parallel_tool_calls") is not None and not request.get("tools"):
        refuse("'parallel_tool_calls' is only allowed when 'tools' are specified.", "parallel_tool_calls")
    _check_stop(request.get("stop"))


def _check_stop(stop: Any) -> None:
    if stop is None or isinstance(stop, str):
        return
    for i, word in enumerate(a_list(stop, "stop", least=1, most=4)):
        text(word, f"stop[{i}]")


def _check_tools(request: dict[str, Any]) -> set[str]:
    """The names of the offered tools."""
    if request.get("tools") is None:
        return set()
    names: set[str] = set()
    for i, item in enumerate(a_list(request["tools"], "tools", least=1, most=128)):
        path = f"tools[{i}]"
        tool = an_object(item, path)
        kind = one_of(required(tool, "type", f"{path}.type"), ("function", "custom"), f"{path}.type")
        function = an_object(required(tool, kind, f"{path}.{kind}"), f"{path}.{kind}")
        name = a_name(required(function, "name", f"{path}.{kind}.name"), f"{path}.{kind}.name")
        if name in names:
            refuse(f"Invalid '{path}.{kind}.name': there are two tools named '{name}'.", path, "invalid_value")
        names.add(name)
        if function.get("description") is not None:
            text(function["description"], f"{path}.{kind}.description")
        if kind == "function" and function.get("parameters") is not None:
            _check_parameters(an_object(function["parameters"], f"{path}.function.parameters"), name, path)
    return names


def _check_parameters(schema: dict[str, Any], name: str, path: str) -> None:
    if schema and schema.get("type") != "object":
        found = json.dumps(schema.get("type"))
        refuse(
            f"Invalid schema for function '{name}': schema must have type 'object', got {found}.",
            f"{path}.function.parameters",
            "invalid_function_parameters",
        )


def _check_tool_choice(request: dict[str, Any], names: set[str]) -> None:
    choice = request.get("tool_choice")
    if choice is None:
        return
    if not names and choice != "none":
        refuse("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    if isinstance(choice, str):
        one_of(choice, ("none", "auto", "required"), "tool_choice")
        return
    chosen = an_object(choice, "tool_choice")
    kinds = ("function", "custom", "allowed_tools")
    kind = one_of(required(chosen, "type", "tool_choice.type"), kinds, "tool_choice.type")
    inner = an_object(required(chosen, kind, f"tool_choice.{kind}"), f"tool_choice.{kind}")
    for name, path in _chosen_names(kind, inner):
        if name not in names:
            refuse(f"Tool choice '{name}' not found in 'tools' parameter.", path)


def _chosen_names(kind: str, inner: dict[str, Any]) -> list[tuple[str, str]]:
    path = f"tool_choice.{kind}"
    if kind != "allowed_tools":
        return [(text(required(inner, "name", f"{path}.name"), f"{path}.name"), f"{path}.name")]
    one_of(required(inner, "mode", f"{path}.mode"), ("auto", "required"), f"{path}.mode")
    found: list[tuple[str, str]] = []
    for i, item in enumerate(a_list(required(inner, "tools", f"{path}.tools"), f"{path}.tools", least=1)):
        tool = an_object(item, f"{path}.tools[{i}]")
        named = one_of(required(tool, "type", f"{path}.tools[{i}].type"), ("function", "custom"), path)
        found += _chosen_names(named, an_object(required(tool, named, f"{path}.tools[{i}].{named}"), path))
    return found


def _check_response_format(request: dict[str, Any]) -> None:
    if request.get("response_format") is None:
        return
    wanted = an_object(request["response_format"], "response_format")
    kinds = ("text", "json_object", "json_schema")
    kind = one_of(required(wanted, "type", "response_format.type"), kinds, "response_format.type")
    if kind == "json_object" and "json" not in json.dumps(request["messages"]).lower():
        refuse(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            "messages",
        )
    if kind == "json_schema":
        path = "response_format.json_schema"
        inner = an_object(required(wanted, "json_schema", path), path)
        a_name(required(inner, "name", f"{path}.name"), f"{path}.name")
        if inner.get("schema") is not None:
            an_object(inner["schema"], f"{path}.schema")
