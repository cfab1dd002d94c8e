"""The guard of the prompt cache: what moved between two request bodies that should only have grown.

A provider caches a prompt by its exact beginning: tools, system text, messages. A changed byte there makes every
token after it cost full price, and nothing in the reply says so except a smaller number of cached tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentloop.shapes import as_dict, as_list

__all__ = ["moved_path"]

# Where the prompt stands in a body, by wire: Chat Completions, Responses, Anthropic. The last two names are lists that
# grow; the others are the same in each request of a conversation.
_FIXED = ("model", "tools", "system", "instructions", "response_format", "text")
_GROWING = ("messages", "input")
# Vendors' cache markers move along with the conversation on purpose, and are no part of the prompt.
_MARKERS = frozenset({"cache_control", "cache_point", "cachePoint"})


def moved_path(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """The first JSON path, such as `messages[3].content`, at which `after` does not go on from `before`; or None.

    Key order counts, since it is bytes; messages added at the end do not, nor do cache markers, sampling fields and
    everything else that is no part of the prompt. Shared objects cost nothing, so this may run at every step.
    """
    for key in _FIXED:
        if (path := _difference(before.get(key), after.get(key), key)) is not None:
            return path
    for key in _GROWING:
        if (path := _growth(before.get(key), after.get(key), key)) is not None:
            return path
    return None


def _growth(before: Any, after: Any, path: str) -> str | None:
    if not (isinstance(before, list) and isinstance(after, list)):
        return _difference(before, after, path)
    sent, now = as_list(before), as_list(after)
    for index, item in enumerate(sent):
        if index >= len(now):
            return f"{path}[{index}]"
        if item is not now[index] and (found := _difference(item, now[index], f"{path}[{index}]")) is not None:
            return found
    return None


def _difference(before: Any, after: Any, path: str) -> str | None:
    if before is after:
        return None
    if isinstance(before, dict) and isinstance(after, dict):
        return _in_objects(as_dict(before), as_dict(after), path)
    if isinstance(before, list) and isinstance(after, list):
        return _in_lists(as_list(before), as_list(after), path)
    return None if _same(before, after) else path


def _same(before: Any, after: Any) -> bool:
    return type(before) is type(after) and before == after  # 1, 1.0 and true are equal, and different bytes


def _in_objects(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> str | None:
    keys = [key for key in before if key not in _MARKERS]
    now = [key for key in after if key not in _MARKERS]
    for key in keys:
        if key not in after:
            return f"{path}.{key}"
        if (found := _difference(before[key], after[key], f"{path}.{key}")) is not None:
            return found
    if keys != now:
        moved = next((key for key, other in zip(now, keys, strict=False) if key != other), now[-1])
        return f"{path}.{moved}"
    return None


def _in_lists(before: Sequence[Any], after: Sequence[Any], path: str) -> str | None:
    for index, (item, other) in enumerate(zip(before, after, strict=False)):
        if (found := _difference(item, other, f"{path}[{index}]")) is not None:
            return found
    return None if len(before) == len(after) else f"{path}[{min(len(before), len(after))}]"
