"""How large the requests of a run are, by an estimate and by what the server counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentloop.history.meter import Meter
from agentloop.history.tokens import EstimateCounter, holds_media, silent_truncation
from agentloop.model import ModelResponse, ToolSpec
from agentloop.pairing import PairedMessages

__all__ = ["RunningCount", "cut_in_silence", "observe"]


@dataclass(slots=True)
class RunningCount:
    """The count of a run without trimming. Its requests only grow, so a step costs what was added, and the counter
    learns of the last report when somebody asks it."""

    counter: EstimateCounter = field(default_factory=EstimateCounter)
    sized: int = 0
    tokens: int = 0
    media: bool = False
    report: tuple[PairedMessages, ModelResponse] | None = None

    def learn(self, view: PairedMessages, response: ModelResponse) -> str | None:
        """Take what the server counted of the request that sent `view`. Returns a warning when it cut the prompt."""
        added = view[self.sized :]
        self.tokens += sum(map(self.counter.size, added))
        self.media = self.media or holds_media(added)
        self.sized = len(view)
        self.report = (view, response)
        return None if self.media else silent_truncation(self.tokens, response.usage.input_tokens)

    def meter(self, instructions: str | None, tools: Sequence[ToolSpec]) -> Meter:
        """What counts for this conversation."""
        meter = Meter(self.counter, instructions=instructions, tools=tools)
        if self.report is not None:
            observe(meter, *self.report)
            self.report = None
        return meter

    def anew(self) -> RunningCount:
        """For another run, by the same counter."""
        return RunningCount(self.counter)


def observe(meter: Meter, view: PairedMessages, response: ModelResponse) -> None:
    meter.observe(view, response.usage, provider=response.provider or "", model=response.model or "")


def cut_in_silence(view: PairedMessages, tokens: int, response: ModelResponse) -> str | None:
    """What to say when the server counted far less than the `tokens` that were sent; the size of media is a guess."""
    warning = silent_truncation(tokens, response.usage.input_tokens)
    return warning if warning and not holds_media(view) else None
