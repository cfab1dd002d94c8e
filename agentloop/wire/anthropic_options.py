"""The fields of a request to Anthropic Messages, from options that are named as in Chat Completions."""

from __future__ import annotations

from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.model import ModelRequest
from agentloop.shapes import as_dict, as_text
from agentloop.wire.options import FIELDS, extra_body, tool_choice
from agentloop.wire.quirks import Quirks

__all__ = ["body_fields"]

# The longest replies of the older models, which refuse a larger bound; for all others a bound that a reply that is not
# streamed can reach in ten minutes. The first beginning of the model's name counts.
_MAX_TOKENS = (
    ("claude-3-opus", 4096),
    ("claude-3-sonnet", 4096),
    ("claude-3-haiku", 4096),
    ("claude-3-5", 8192),
    ("claude", 16384),
    ("", 8192),
)
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_READ = frozenset(
    {
        "temperature",
        "top_p",
        "max_tokens",
        "stop",
        "response_format",
        "parallel_tool_calls",
        "reasoning_effort",
        "user",
        "safety_identifier",
        "metadata",
        "service_tier",
        "n",
    }
)
_WITHOUT_EFFECT = frozenset({"store", "stream_options"})  # nothing is stored, and usage is always streamed


def body_fields(
    request: ModelRequest, model: str, quirks: Quirks, notes: list[str], *, counting: bool
) -> dict[str, Any]:
    """All but model, system text, tools and messages. `notes` gets each option that has no place here.

    Raises ConfigError for options that would change the meaning of the reply if they were left out.
    """
    extra = extra_body(request.options)
    options = cast("dict[str, Any]", request.options)
    given = {name: value for name in FIELDS if (value := options.get(name)) is not None}
    notes += [
        f"option {name} has no place in Anthropic Messages and was left out"
        for name in given
        if name not in _READ and name not in _WITHOUT_EFFECT
    ]
    fields: dict[str, Any] = {}
    if not counting:
        default = quirks.default_max_tokens or next(n for head, n in _MAX_TOKENS if model.startswith(head))
        fields["max_tokens"] = given.get("max_tokens", default)
        _add_sampling(given, quirks, fields)
        _add_account(given, fields, notes)
    _add_output(given, fields)
    _add_choice(request, given, fields)
    if quirks.cache == "turns":
        fields["cache_control"] = {"type": "ephemeral"}  # behind the last block that can have it
    if request.stream and not counting:
        fields["stream"] = True
    return fields | extra


def _add_sampling(given: dict[str, Any], quirks: Quirks, fields: dict[str, Any]) -> None:
    if given.get("n", 1) != 1:
        raise ConfigError("Anthropic Messages gives one reply: leave out n, or ask several times")
    for name in ("temperature", "top_p"):
        if name in given:
            if quirks.anthropic_version >= "2026-10-21":
                raise ConfigError(f"anthropic-version {quirks.anthropic_version} refuses {name}: leave it out")
            fields[name] = given[name]
    if "stop" in given:
        fields["stop_sequences"] = [given["stop"]] if isinstance(given["stop"], str) else list(given["stop"])


def _add_output(given: dict[str, Any], fields: dict[str, Any]) -> None:
    """How hard the model thinks, and the form of its answer."""
    config: dict[str, Any] = {}
    effort = given.get("reasoning_effort")
    if effort == "none":
        fields["thinking"] = {"type": "disabled"}
    elif effort is not None:
        config["effort"] = "low" if effort == "minimal" else effort
    wanted = as_dict(given.get("response_format"))
    if wanted.get("type") == "json_schema":
        schema = as_dict(wanted.get("json_schema")).get("schema")
        config["format"] = {"type": "json_schema", "schema": schema}
    elif wanted and wanted.get("type") != "text":
        raise ConfigError(
            f"Anthropic Messages has no response_format {wanted.get('type')!r}: give a json_schema, or ask for JSON in "
            "the prompt"
        )
    if config:
        fields["output_config"] = config


def _add_choice(request: ModelRequest, given: dict[str, Any], fields: dict[str, Any]) -> None:
    choice = tool_choice(request)
    if isinstance(choice, str):
        choice = {"type": _CHOICES[choice]}
    elif choice is not None and "function" in choice:
        choice = {"type": "tool", "name": as_dict(choice["function"]).get("name")}
    elif choice is not None and choice.get("type") not in ("auto", "any", "tool", "none"):
        raise ConfigError(f"Anthropic Messages has no tool_choice of type {choice.get('type')!r}: offer fewer tools")
    if given.get("parallel_tool_calls") is False and request.tools:
        choice = {"disable_parallel_tool_use": True, **(choice or {"type": "auto"})}
        if choice["type"] == "none":
            del choice["disable_parallel_tool_use"]
    if choice is not None:
        fields["tool_choice"] = dict(choice)


def _add_account(given: dict[str, Any], fields: dict[str, Any], notes: list[str]) -> None:
    """For whom the reply is, and how urgent."""
    metadata = as_dict(given.get("metadata"))
    user = as_text(metadata.get("user_id")) or given.get("user") or given.get("safety_identifier")
    if user:
        fields["metadata"] = {"user_id": user}
    if metadata.keys() - {"user_id"}:
        notes.append("of the option metadata only user_id has a place in Anthropic Messages")
    if (tier := given.get("service_tier")) in ("auto", "standard_only"):
        fields["service_tier"] = tier
    elif tier is not None:
        notes.append(f"service_tier {tier!r} is none of Anthropic Messages and was left out")
