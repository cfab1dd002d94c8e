"""The trajectory as text: an event of a run in, lines out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agentloop.cli.printable import cut, one_line
from agentloop.cli.screen import Line
from agentloop.history.answers import Cut
from agentloop.loop.result import RunEvent, RunResult
from agentloop.messages import Message, TextPart, ToolCall, ToolResult
from agentloop.model import Attempt, ModelResponse, Usage

__all__ = ["call_text", "cut_text", "describe_message", "lines_of", "summary", "usage_text"]

WIDTH = 200

# What to do about each end of a run, in the words of the command line.
_WHAT_NOW: dict[str, str] = {
    "step_limit": "raise --max-steps",
    "tool_limit": "raise --max-tool-steps",
    "time_limit": "raise --timeout",
    "truncated": "the reply was cut at the model's token limit",
    "filtered": "the provider's content filter withheld the reply",
    "refused": "the model refused",
    "model_stopped": "the model stopped before it had answered",
    "stuck": "the model made the same calls again and again: change the prompt or the tools",
    "needs_approval": "a tool call waits for a decision",
}


def lines_of(event: RunEvent, *, verbose: bool = False, streamed: bool = False) -> list[Line]:
    """The lines of one event, none for those that do not concern a reader. `verbose` adds what each reply cost, and
    what was odd about it; with `streamed` the text of replies has been shown already. The end of a run is told by
    `summary`."""
    match event.type:
        case "step_started":
            return [Line(f"step {event.step}", "step")]
        case "tool_started":
            return [Line(f"  {call_text(event.call)}", "call")]
        case "tool_finished":
            return _tool_lines(event.call, event.result)
        case "attempt_failed":
            return [_attempt_line(event.attempt)]
        case "repaired":
            return [Line(f"  repaired: {one_line(str(repair))}", "note") for repair in event.repairs]
        case "trimmed":
            return [Line(f"  {cut_text(event.cut)}", "note")]
        case "warning":
            return [Line(f"  warning: {one_line(event.text)}", "error")]
        case "late_result":
            return [Line(f"  too late: {_shown(event.result)}", "note")]
        case "response_done":
            return _response_lines(event.response, verbose, streamed)
        case _:
            return []


def call_text(call: ToolCall) -> str:
    """A call with its id and its exact arguments, all of it visible and on one line."""
    return f"{one_line(call.id)} {one_line(call.name)}({one_line(call.arguments)})"


def summary(result: RunResult) -> list[Line]:
    """How the run ended, what it cost, and what to do when it did not answer."""
    steps = "1 step" if result.steps == 1 else f"{result.steps} steps"
    head = f"{result.status}: {steps}, {usage_text(result.usage)}"
    if result.status == "answered":
        return [Line(head, "done")]
    lines = [Line(head, "error")]
    if result.status in _WHAT_NOW:
        lines.append(Line(f"  {_WHAT_NOW[result.status]}", "error"))
    if result.response is not None and result.response.refusal:
        lines.append(Line(f"  it said: {cut(one_line(result.response.refusal), WIDTH)}", "error"))
    if result.error is not None:
        lines += [Line(f"  {one_line(line)}", "error") for line in str(result.error).splitlines()]
    return lines


def usage_text(usage: Usage) -> str:
    """Tokens in and out with what the cache served, as far as the server said."""
    if usage.total_tokens is None:
        return "tokens not reported"
    cached = "" if usage.cached_tokens is None else f" ({usage.cached_tokens:,} cached)"
    thought = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
    least = "" if usage.complete else "at least "
    return f"{least}{usage.input_tokens or 0:,} tokens in{cached}, {usage.output_tokens or 0:,} out{thought}"


def cut_text(trimmed: Cut) -> str:
    """What a request leaves out of the history, and what that costs."""
    messages = "1 message" if len(trimmed.left) == 1 else f"{len(trimmed.left)} messages"
    tokens = f"{trimmed.tokens_before:,} to {trimmed.tokens_after:,} tokens"
    return f"trimmed: {messages} left out or shortened, {tokens}, {trimmed.cached_lost:,} cached tokens lost"


def describe_message(message: Message, width: int = WIDTH) -> str:
    """A message as one line: its role, what it says, and the calls it makes."""
    said = cut(one_line(message.text), width)
    calls = message.tool_calls if message.role == "assistant" else ()
    whose = f" {one_line(message.tool_call_id)}" if message.role == "tool" else ""
    return " ".join(filter(None, (f"{message.role}{whose}:", said, *(call_text(call) for call in calls))))


def _tool_lines(call: ToolCall, result: ToolResult) -> list[Line]:
    if not result.is_error:
        return [Line(f"  {one_line(call.id)} -> {_shown(result)}", "result")]
    kind, shown = result.kind or "error", _shown(result)
    failed = Line(f"  {one_line(call.id)} {shown if shown.startswith(kind) else f'{kind}: {shown}'}", "error")
    # A denied call was never started, so this is the first that is seen of it.
    return [Line(f"  {call_text(call)}", "call"), failed] if result.kind == "denied" else [failed]


def _attempt_line(attempt: Attempt) -> Line:
    again = "" if attempt.wait is None else f"; again in {attempt.wait:.1f} s"
    why = f" ({one_line(attempt.rule)})" if attempt.rule else ""
    return Line(f"  attempt {attempt.number} failed: {cut(one_line(attempt.error or ''), WIDTH)}{again}{why}", "error")


def _response_lines(response: ModelResponse, verbose: bool, streamed: bool) -> list[Line]:
    lines: list[Line] = []
    if verbose and response.reasoning:
        lines.append(Line(f"  thinks: {cut(one_line(response.reasoning), WIDTH)}", "note"))
    if response.text and response.tool_calls and not streamed:
        lines.append(Line(f"  says: {cut(one_line(response.text), WIDTH)}", "plain"))
    if verbose:
        said = f"{response.raw_finish_reason or 'no finish reason'}, {usage_text(response.usage)}"
        request = f", request {one_line(response.request_id)}" if response.request_id else ""
        lines.append(Line(f"  {one_line(response.model or '?')}: {one_line(said)}{request}", "note"))
        lines += [Line(f"  note: {one_line(note)}", "note") for note in response.notes]
    return lines


def _shown(result: ToolResult) -> str:
    return cut(one_line(_text_of(result.content)), WIDTH)


def _text_of(content: str | Sequence[object]) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.text if isinstance(part, TextPart) else f"[{type(part).__name__}]" for part in content)
