"""Conversations in files, and results as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentloop.cli.printable import printable
from agentloop.errors import ConfigError, HistoryError
from agentloop.loop.result import RunResult
from agentloop.messages import Message, messages_from
from agentloop.shapes import as_dict, as_list

__all__ = ["as_json", "load", "report", "save"]


def save(path: Path, messages: Sequence[Message]) -> None:
    """Write the messages in storage form, whole or not at all."""
    text = as_json([message.to_dict() for message in messages], "utf-8")
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text + "\n", encoding="utf-8")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def load(path: Path) -> tuple[Message, ...]:
    """The messages of a file: a list of them, or an object with "messages", as `run --json` prints it.

    Raises ConfigError for anything else.
    """
    try:
        value: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: is not JSON: {error}") from error
    found = as_list(as_dict(value).get("messages", value))
    if not found or not all(isinstance(each, dict) for each in found):
        raise ConfigError(f"{path}: holds no list of messages")
    try:
        return messages_from(found)
    except HistoryError as error:
        raise ConfigError(f"{path}: {error}") from error


def report(result: RunResult, provider: str) -> dict[str, Any]:
    """A result for programs: messages in the form in which Chat Completions takes them, and `error` when the run did
    not answer."""
    from agentloop.wire.chat_messages import MessageWriter
    from agentloop.wire.names import Names
    from agentloop.wire.quirks import Quirks

    writer = MessageWriter(provider, Quirks(reasoning="always"), Names(), tools_offered=True)
    out: dict[str, Any] = {
        "status": result.status,
        "text": result.text,
        "steps": result.steps,
        "usage": asdict(result.usage),
        "messages": [writer.write(message) for message in result.messages],
        "provider": provider,
    }
    if result.error is not None:
        out["error"] = {"type": type(result.error).__name__, "message": str(result.error)}
    elif result.status != "answered":
        out["error"] = {"type": "RunError", "message": f"the run ended in {result.status}"}
    return out


def as_json(value: object, encoding: str) -> str:
    """JSON text that this encoding can write; what a terminal must not see is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    plain = encoding.lower().replace("-", "") == "utf8" and printable(text) == text
    return text if plain else json.dumps(value, indent=2)
