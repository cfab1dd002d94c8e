"""Providers as data: where they are, which wire they speak, and how each deviates from the common form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentloop.errors import ConfigError

__all__ = ["PRESETS", "Evidence", "Quirks", "ReasoningPolicy", "preset"]

Evidence: TypeAlias = Literal["recorded", "documented", "reported", "none"]
ReasoningPolicy: TypeAlias = Literal["always", "when_tools_offered", "tool_turns", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """One provider. The defaults suit a server that is not known: nothing is sent that only some would take.

    Where it is: `base_url`, or `base_url_env`, the variable that names it; `key_env` and `model_env`, the variables
    with key and model; `default_model`, when neither the caller nor a variable names one; `auth`, the header that
    carries the key: `Authorization: Bearer`, `api-key` or `x-api-key`; `wire`, the dialect, unless the caller names
    one.

    What it is sent:

    - `max_tokens_field`: the name of the bound on a reply.
    - `system_role`: the role of system messages.
    - `reasoning`: which earlier turns of the model go back with their reasoning: all, all when tools are offered, only
      those with tool calls, or none. `reasoning_field` is the key for it; None means the key it came in.
      `reasoning_filler` is sent for such a turn without reasoning; None sends no key.
    - `empty_content`: the `content` of a turn that has only tool calls, null or "": no value suits every server.
    - `call_ids`: "nine" for servers that take only ids of nine letters and digits; others are mapped on the way out.
    - `strict_schema`: function tools may say `strict: true`.
    - `stream_usage`: a stream is asked for its usage (`stream_options.include_usage`).
    - `tool_protocol`: "text" for models that know no tools: these are described in the instructions.
    - `single_system`: all system messages are joined into one at the front. `alternate_roles`: neighbours with the
      same role, user or assistant without calls, are joined. Chat templates of small models may need either.

    Only on the Responses wire:

    - `stores`: the server keeps replies unless it is told not to, as the API has it, so requests say `store: false` and
      ask for encrypted reasoning, which goes back in its place. False for servers that keep nothing.
    - `tells_cuts`: a reply that hit its bound says so. Otherwise one that is as long as the bound counts as cut.
    - `calls_together`: the calls of a turn come last, since an item between two calls would split the turn.

    Only on the Anthropic wire:

    - `anthropic_version`: the header of that name. From 2026-10-21 on `temperature` and `top_p` are refused.
    - `default_max_tokens`: the bound on a reply when the caller gives none, since the field is required; None takes it
      from a table of models.
    - `cache`: where `cache_control` is set: nowhere, behind tools and system text ("head"), or there and behind the
      last message, which moves on with each request ("turns").

    What it answers: `think_tags` splits a `<think>` block at the start of a text off as reasoning.

    `evidence` says how the row is known: from exchanges that were recorded, from the vendor's documents, from reports
    of users; "none" for a row of your own.
    """

    name: str = "custom"
    base_url: str | None = None
    base_url_env: str | None = None
    key_env: str | None = None
    model_env: str | None = None
    default_model: str | None = None
    auth: Literal["bearer", "api-key", "x-api-key"] = "bearer"
    wire: Literal["chat", "responses", "anthropic"] = "chat"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    reasoning: ReasoningPolicy = "tool_turns"
    reasoning_field: str | None = None
    reasoning_filler: str | None = None
    empty_content: Literal[""] | None = None
    call_ids: Literal["any", "nine"] = "any"
    strict_schema: bool = False
    stream_usage: bool = True
    tool_protocol: Literal["native", "text"] = "native"
    single_system: bool = False
    alternate_roles: bool = False
    stores: bool = True
    tells_cuts: bool = True
    calls_together: bool = False
    anthropic_version: str = "2023-06-01"
    default_max_tokens: int | None = None
    cache: Literal["off", "head", "turns"] = "off"
    think_tags: bool = False
    evidence: Evidence = "none"

    def returns_reasoning(self, *, tools_offered: bool, has_calls: bool) -> bool:
        """Whether a turn goes back with its reasoning in clear."""
        match self.reasoning:
            case "always":
                return True
            case "when_tools_offered":
                return tools_offered
            case "tool_turns":
                return has_calls
            case "never":
                return False


_ROWS = (
    Quirks(
        name="openai",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env="OPENAI_API_KEY",
        model_env="OPENAI_MODEL",
        max_tokens_field="max_completion_tokens",  # reasoning models refuse max_tokens
        system_role="developer",
        reasoning="never",
        strict_schema=True,
        evidence="documented",
    ),
    Quirks(
        name="deepseek",
        base_url="https://api.deepseek.com",
        base_url_env="DEEPSEEK_BASE_URL",
        key_env="DEEPSEEK_API_KEY",
        model_env="DEEPSEEK_MODEL",
        default_model="deepseek-flash",
        # With tools in the request, a turn without this key is a 400; without tools the key is ignored.
        reasoning="when_tools_offered",
        reasoning_field="reasoning_content",
        reasoning_filler="",
        empty_content="",
        evidence="documented",
    ),
    Quirks(
        name="azure",
        base_url_env="AZURE_OPENAI_BASE_URL",
        key_env="AZURE_OPENAI_API_KEY",
        model_env="AZURE_OPENAI_MODEL",
        auth="api-key",
        max_tokens_field="max_completion_tokens",
        reasoning="never",
        strict_schema=True,
        evidence="documented",
    ),
    Quirks(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        base_url_env="OPENROUTER_BASE_URL",
        key_env="OPENROUTER_API_KEY",
        model_env="OPENROUTER_MODEL",
        reasoning_field="reasoning",
        evidence="documented",
    ),
    Quirks(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        base_url_env="GROQ_BASE_URL",
        key_env="GROQ_API_KEY",
        model_env="GROQ_MODEL",
        max_tokens_field="max_completion_tokens",
        reasoning="never",
        evidence="documented",
    ),
    Quirks(
        name="mistral",
        base_url="https://api.mistral.ai/v1",
        base_url_env="MISTRAL_BASE_URL",
        key_env="MISTRAL_API_KEY",
        model_env="MISTRAL_MODEL",
        reasoning="never",
        empty_content="",
        call_ids="nine",
        stream_usage=False,  # the last chunk has it unasked
        evidence="documented",
    ),
    Quirks(
        name="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        base_url_env="GEMINI_BASE_URL",
        key_env="GEMINI_API_KEY",
        model_env="GEMINI_MODEL",
        reasoning="never",
        evidence="documented",
    ),
    Quirks(
        name="vllm",
        base_url="http://localhost:8000/v1",
        base_url_env="VLLM_BASE_URL",
        key_env="VLLM_API_KEY",
        model_env="VLLM_MODEL",
        evidence="documented",
    ),
    Quirks(
        name="llama.cpp",
        base_url="http://localhost:8080/v1",
        base_url_env="LLAMA_CPP_BASE_URL",
        key_env="LLAMA_CPP_API_KEY",
        model_env="LLAMA_CPP_MODEL",
        default_model="default",  # the server answers with the model it has loaded, whatever the name
        reasoning_field="reasoning_content",
        evidence="recorded",
    ),
    Quirks(
        name="ollama",
        base_url="http://localhost:11434/v1",
        base_url_env="OLLAMA_BASE_URL",
        key_env="OLLAMA_API_KEY",
        model_env="OLLAMA_MODEL",
        reasoning_field="reasoning",
        empty_content="",  # null was refused by some versions
        evidence="reported",
    ),
    Quirks(
        name="litellm",
        base_url="http://localhost:4000/v1",
        base_url_env="LITELLM_BASE_URL",
        key_env="LITELLM_API_KEY",
        model_env="LITELLM_MODEL",
        reasoning_field="reasoning_content",
        evidence="recorded",
    ),
    Quirks(
        name="openai-responses",
        wire="responses",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env="OPENAI_API_KEY",
        model_env="OPENAI_MODEL",
        system_role="developer",
        reasoning="never",  # in clear; encrypted items go back whole
        strict_schema=True,
        evidence="documented",
    ),
    Quirks(
        name="deepseek-responses",
        wire="responses",
        base_url="https://api.deepseek.com",
        base_url_env="DEEPSEEK_BASE_URL",
        key_env="DEEPSEEK_API_KEY",
        model_env="DEEPSEEK_MODEL",
        default_model="deepseek-flash",
        reasoning="when_tools_offered",
        stores=False,
        calls_together=True,
        evidence="documented",
    ),
    Quirks(
        name="llama.cpp-responses",
        wire="responses",
        stores=False,
        tells_cuts=False,  # the status is always "completed"
        base_url="http://localhost:8080/v1",
        base_url_env="LLAMA_CPP_BASE_URL",
        key_env="LLAMA_CPP_API_KEY",
        model_env="LLAMA_CPP_MODEL",
        default_model="default",
        evidence="recorded",
    ),
    Quirks(
        name="anthropic",
        wire="anthropic",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        key_env="ANTHROPIC_API_KEY",
        model_env="ANTHROPIC_MODEL",
        auth="x-api-key",
        reasoning="never",  # without a signature it is refused; signed blocks go back whole
        strict_schema=True,
        cache="turns",
        evidence="documented",
    ),
    Quirks(
        name="deepseek-anthropic",
        wire="anthropic",
        base_url="https://api.deepseek.com/anthropic",
        key_env="DEEPSEEK_API_KEY",
        model_env="DEEPSEEK_MODEL",
        default_model="deepseek-flash",
        auth="x-api-key",
        reasoning="tool_turns",
        evidence="documented",
    ),
    Quirks(
        name="llama.cpp-anthropic",
        wire="anthropic",
        base_url="http://localhost:8080/v1",
        base_url_env="LLAMA_CPP_BASE_URL",
        key_env="LLAMA_CPP_API_KEY",
        model_env="LLAMA_CPP_MODEL",
        default_model="default",
        auth="x-api-key",
        default_max_tokens=4096,  # what the server itself takes when the field is missing
        evidence="recorded",
    ),
)

PRESETS = {row.name: row for row in _ROWS}


def preset(name: str) -> Quirks:
    """The row of a known provider. Raises ConfigError, which lists the names there are."""
    try:
        return PRESETS[name]
    except KeyError:
        known = ", ".join(PRESETS)
        raise ConfigError(f"unknown provider {name!r}: use one of {known}, or give base_url and quirks") from None
