"""How servers say that the prompt is longer than the context: by code, or only in words."""

from __future__ import annotations

import re

__all__ = ["Overflow", "find_overflow"]

_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "prompt_too_long",
    }
)

# One row per wording seen in the wild. `limit` is the context size in tokens, `used` what the prompt needs.
# They are plain strings, so that importing this file compiles nothing.
_WORDINGS = (
    # OpenAI, DeepSeek, OpenRouter, vLLM
    r"maximum context length is (?P<limit>\d+) tokens"
    r"(?:.*?(?:resulted in|requested|contains|has)\D{0,20}(?P<used>\d+))?",
    r"exceeds the context window of this model",  # OpenAI, Responses
    r"(?:\((?P<used>\d+) tokens\) )?exceeds? the available context size(?: \((?P<limit>\d+) tokens\))?",  # llama.cpp
    # Anthropic, Fireworks
    r"prompt is too long(?:: (?P<used>\d+)(?: tokens > |, model maximum context length: )(?P<limit>\d+))?",
    r"exceed context limit: (?P<used>\d+) \+ \d+ > (?P<limit>\d+)",  # Anthropic, prompt plus max_tokens
    r"input token count \(?(?P<used>\d+)\)? exceeds the maximum number of tokens allowed \(?(?P<limit>\d+)",  # Gemini
    r"prompt contains (?P<used>\d+) tokens.*?(?P<limit>\d+) maximum context length",  # Mistral
    r"maximum prompt length is (?P<limit>\d+) but the request contains (?P<used>\d+)",  # xAI
    r"prompt \(length (?P<used>\d+)\) is longer than the maximum model length of (?P<limit>\d+)",  # vLLM
    r"\((?P<used>\d+) tokens\) is longer than the model's context length \((?P<limit>\d+)",  # SGLang
    r"input length exceeds the (?:maximum )?context length",  # Ollama
    r"loaded with context length of only (?P<limit>\d+)",  # LM Studio
    r"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>\d+)\. Given: (?P<used>\d+)",  # Together, TGI
    r"exceeded model token limit: (?P<limit>\d+) \(requested: (?P<used>\d+)\)",  # Moonshot
    r"context window exceeds limit",  # MiniMax
    r"input is too long for requested model",  # Bedrock
    r"ContextWindowExceededError",  # the LiteLLM proxy, for any of them
    r"reduce the length of the messages",  # Groq
)


class Overflow:
    """The prompt was too long. `limit` and `prompt_tokens` are None where the server named no numbers."""

    __slots__ = ("limit", "prompt_tokens")

    def __init__(self, limit: int | None = None, prompt_tokens: int | None = None) -> None:
        self.limit = limit
        self.prompt_tokens = prompt_tokens


def find_overflow(message: str, *words: str | None) -> Overflow | None:
    """Whether an error's message, or its code and type (`words`), say that the prompt did not fit."""
    named = any(word in _CODES for word in words)
    best = Overflow() if named else None
    for pattern in _WORDINGS:
        found = re.search(pattern, message, re.IGNORECASE | re.DOTALL)
        if found is None:
            continue
        numbers = {name: int(value) for name, value in found.groupdict().items() if value}
        best = Overflow(numbers.get("limit"), numbers.get("used"))
        if numbers:
            break
    return best
