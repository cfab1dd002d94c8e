"""Providers as data: where they are, and how each deviates from the common form of Chat Completions."""

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
    carries the key: `Authorization: Bearer` or `api-key`.

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
    - `single_system`: all system messages are joined into one at the front. `alternate_roles`: neighbours with the
      same role, user or assistant without calls, are joined. Chat templates of small models may need either.

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
    auth: Literal["bearer", "api-key"] = "bearer"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    reasoning: ReasoningPolicy = "tool_turns"
    reasoning_field: str | None = None
    reasoning_filler: str | None = None
    empty_content: Literal[""] | None = None
    call_ids: Literal["any", "nine"] = "any"
    strict_schema: bool = False
    stream_usage: bool = True
    single_system: bool = False
    alternate_roles: bool = False
    think_tags: bool = False
    evidence: Evidence = "none"


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
)

PRESETS = {row.name: row for row in _ROWS}


def preset(name: str) -> Quirks:
    """The row of a known provider. Raises ConfigError, which lists the names there are."""
    try:
        return PRESETS[name]
    except KeyError:
        known = ", ".join(PRESETS)
        raise ConfigError(f"unknown provider {name!r}: use one of {known}, or give base_url and quirks") from None
