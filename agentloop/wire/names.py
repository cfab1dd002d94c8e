"""Names of tools on a wire. Every name that is sent or received passes through here."""

from __future__ import annotations

import hashlib
import re

from agentloop.errors import ConfigError

__all__ = ["legal_call_id", "offered_name", "past_name"]

_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def offered_name(name: str) -> str:
    """The name under which a tool is offered. Raises ConfigError for one that servers refuse."""
    if not _LEGAL.fullmatch(name):
        raise ConfigError(f"tool name {name!r}: use 1 to 64 of the characters a-z A-Z 0-9 _ -, as providers demand")
    return name


def past_name(name: str) -> str:
    """The name of a call in a history. A model may have made it up; servers check it all the same, so that other
    characters become `_` and what is too long is cut."""
    return name if _LEGAL.fullmatch(name) else re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "_"


def legal_call_id(call_id: str) -> str:
    """A call's id for a wire that takes letters, digits, `_` and `-` only: always the same for the same id, and
    different for different ones."""
    cleaned = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
    if cleaned == call_id and call_id:
        return call_id
    return f"{cleaned[:40]}_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
