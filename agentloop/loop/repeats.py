"""Noticing a loop that gets nowhere: the same calls with the same results, round after round."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentloop.loop.step import OpenCall
from agentloop.messages import ToolMessage
from agentloop.parts import TextPart
from agentloop.tools.approval import canonical_arguments

__all__ = ["Repeats", "with_warning"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many rounds in a row were the same. Arguments are compared by meaning, results by their text; ids do not
    count. A round with other arguments or another result starts anew."""

    digest: str = ""
    count: int = 0

    def after(self, calls: Sequence[OpenCall]) -> Repeats:
        same = [(call.call.name, canonical_arguments(call.to_run.arguments), repr(_content(call))) for call in calls]
        digest = hashlib.sha256(json.dumps(same).encode()).hexdigest()
        return Repeats(digest, self.count + 1 if digest == self.digest else 1)


def _content(call: OpenCall) -> object:
    return call.result.content if call.result else None


def with_warning(message: ToolMessage, times: int) -> ToolMessage:
    """The last result of the round, with a word to the model that it is going round in circles."""
    text = (
        f"\n\n[You have made this same call {times} times, and the result was the same each time. "
        "Do something else, or answer with what you have.]"
    )
    content = message.content
    return replace(message, content=content + text if isinstance(content, str) else (*content, TextPart(text)))
