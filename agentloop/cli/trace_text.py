"""A trace as text: a line of the file in, lines for a reader out. Pure, and tolerant of what a file may hold."""

from __future__ import annotations

import json
from typing import Any

from agentloop.cli.printable import cut, one_line, printable
from agentloop.cli.rendering import WIDTH, call_text, usage_text
from agentloop.cli.screen import Line
from agentloop.cli.trace_digest import RunDigest, seconds_of
from agentloop.messages import ToolCall
from agentloop.model import Usage
from agentloop.shapes import as_dict, as_int, as_list

__all__ = ["head_line", "header_pairs", "request_text", "summary_lines", "trace_lines"]

_VERBS = {"text": "says", "reasoning": "thinks", "refusal": "refuses"}


def head_line(head: dict[str, Any]) -> Line:
    """The first line of a trace."""
    return Line(f"agentloop {_text(head, 'agentloop')}, {_text(head, 'started')}", "note")


def trace_lines(line: dict[str, Any]) -> list[Line]:
    """The lines of one line of a trace, none for those that only the summary needs."""
    match line["type"]:
        case "run_started":
            return _run_lines(line)
        case "step_started":
            return [Line(f"step {_text(line, 'step')}  (at {_seconds(line, 'at')})", "step")]
        case "request":
            return [Line(f"  {_request_text(line)}", "note")]
        case "attempt" if "error" in line:
            return [_attempt_line(line)]
        case "response":
            return _response_lines(line)
        case "decision":
            return _decision_lines(line)
        case "tool_started":
            return [Line(f"  {_call(line)}", "call")]
        case "tool_progress":
            return [Line(f"  {_text(line, 'id')} … {_text(line, 'text')}", "note")]
        case "tool_finished":
            return [_tool_line(line)]
        case "repaired":
            return [Line(f"  repaired: {_shown(repair)}", "note") for repair in as_list(line.get("repairs"))]
        case "trimmed":
            return [_cut_line(line)]
        case "warning":
            return [Line(f"  warning: {_text(line, 'text')}", "error")]
        case _:
            return []


def summary_lines(run: RunDigest) -> list[Line]:
    """How a run ended, what it cost, and where its time went."""
    if run.status is None:
        return [Line(f"run {run.run} has no end here: its program was stopped, or is still running", "error")]
    counts = [_count(run.steps or 0, "step"), _count(len(run.requests), "request")]
    counts += [_count(run.retries, "retry", "retries")] if run.retries else []
    waits = f", waits {run.wait_seconds:.3f} s" if run.wait_seconds else ""
    whole = "" if run.seconds is None else f"{run.seconds:.3f} s: "
    times = f"{whole}model {run.model_seconds:.3f} s{waits}, tools {run.tool_seconds:.3f} s"
    look = "done" if run.status == "answered" else "error"
    lines = [Line(f"{_shown(run.status)}: {', '.join(counts)}; {_usage(run.usage)}; {times}", look)]
    if run.error is not None:
        lines.append(Line(f"  {_text(run.error, 'type')}: {_text(run.error, 'message')}", "error"))
    return lines


def request_text(line: dict[str, Any]) -> str:
    """A request as it went out: method and URL, headers, and the body as indented JSON."""
    headers = [one_line(f"{name}: {value}") for name, value in header_pairs(line)]
    body = json.dumps(line["body"], indent=2, ensure_ascii=False) if "body" in line else line.get("text")
    shown = body if isinstance(body, str) else str(line.get("base64", ""))
    return "\n".join([f"{_text(line, 'method')} {_text(line, 'url')}", *headers, "", printable(shown)]) + "\n"


def header_pairs(line: dict[str, Any]) -> list[tuple[str, str]]:
    """The headers of a request, keys masked."""
    pairs = [as_list(pair) for pair in as_list(line.get("headers"))]
    return [(str(pair[0]), str(pair[1])) for pair in pairs if len(pair) == 2]


def _run_lines(line: dict[str, Any]) -> list[Line]:
    tools = ", ".join(_text(as_dict(tool), "name") for tool in as_list(line.get("tools"))) or "none"
    limits = ", ".join(f"{_shown(name)}={_shown(bound)}" for name, bound in as_dict(line.get("limits")).items())
    lines = [
        Line(f"run {_text(line, 'run')}: {_text(line, 'provider')} {_text(line, 'model')}", "step"),
        Line(f"  asks: {_text(line, 'ask')}"),
        Line(f"  tools: {tools}; limits: {limits}", "note"),
    ]
    if "instructions" in line:
        lines.append(Line(f"  instructions: {_text(line, 'instructions')}", "note"))
    return lines


def _request_text(line: dict[str, Any]) -> str:
    tries = as_int(line.get("attempt")) or 1
    notes = [*([f"try {tries}"] if tries > 1 else ()), *(["for a summary"] if line.get("purpose") == "summary" else ())]
    head = f"request {_text(line, 'request')}: {_text(line, 'method')} {_text(line, 'url')}"
    return ", ".join([head, f"{as_int(line.get('size')) or 0:,} bytes", *notes])


def _attempt_line(line: dict[str, Any]) -> Line:
    wait = "" if "wait" not in line else f"; again in {_seconds(line, 'wait')}"
    why = f" ({_text(line, 'rule')})" if "rule" in line else ""
    head = f"  attempt {_text(line, 'attempt')} failed after {_seconds(line, 'seconds')}"
    return Line(f"{head}: {_text(line, 'error')}{wait}{why}", "error")


def _response_lines(line: dict[str, Any]) -> list[Line]:
    firsts = [f"first byte {_seconds(line, 'first_byte')}"] if "first_byte" in line else []
    firsts += [f"first content {_seconds(line, 'first_content')}"] if "first_content" in line else []
    when = f"reply after {_seconds(line, 'seconds')}" + (f" ({', '.join(firsts)})" if firsts else "")
    word = line.get("raw_finish_reason") or line.get("finish_reason") or "no finish reason"
    told = f", request id {_text(line, 'request_id')}" if "request_id" in line else ""
    lines = [Line(f"  {when}: {_shown(word)}, {_usage(as_dict(line.get('usage')))}{told}", "note")]
    lines += _message_lines(as_dict(line.get("message")))
    return lines + [Line(f"  note: {_shown(note)}", "note") for note in as_list(line.get("notes"))]


def _message_lines(message: dict[str, Any]) -> list[Line]:
    """What the model said; its calls follow by themselves."""
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else map(as_dict, as_list(content))
    lines: list[Line] = []
    for part in parts:
        verb, said = _VERBS.get(str(part.get("type"))), part.get("refusal", part.get("text"))
        if verb and said:
            lines.append(Line(f"  {verb}: {_shown(said)}", "note" if verb == "thinks" else "plain"))
    return lines


def _decision_lines(line: dict[str, Any]) -> list[Line]:
    decision, by = line.get("decision"), line.get("by")
    if (decision, by) == ("allow", "policy"):
        return []  # the call that follows says it
    reason = f": {_text(line, 'reason')}" if "reason" in line else ""
    edited = f": {_text(line, 'arguments')}" if "arguments" in line else ""
    head = f"  {_text(line, 'id')} {_text(line, 'name')}"
    return [Line(f"{head}: {_shown(by)} says {_shown(decision)}{reason}{edited}", "note")]


def _tool_line(line: dict[str, Any]) -> Line:
    took = f" ({_seconds(line, 'seconds')})" if "seconds" in line else ""
    shown = cut(one_line(_said(line.get("content"))), WIDTH)
    if not line.get("is_error"):
        return Line(f"  {_text(line, 'id')} -> {shown}{took}", "result")
    kind = _text(line, "kind") if "kind" in line else "error"
    return Line(f"  {_text(line, 'id')} {shown if shown.startswith(kind) else f'{kind}: {shown}'}{took}", "error")


def _cut_line(line: dict[str, Any]) -> Line:
    before, after = as_int(line.get("tokens_before")) or 0, as_int(line.get("tokens_after")) or 0
    messages = _count(as_int(line.get("messages")) or 0, "message")
    lost = as_int(line.get("cached_lost")) or 0
    cost = f"{before:,} to {after:,} tokens, {lost:,} cached tokens lost"
    return Line(f"  trimmed: {messages} left out or shortened, {cost}", "note")


def _said(content: object) -> str:
    """The text of a content, of which other parts show their type."""
    if isinstance(content, str):
        return content
    parts = [as_dict(part) for part in as_list(content)]
    return " ".join(_shown(part["text"]) if "text" in part else f"[{_text(part, 'type')}]" for part in parts)


def _call(line: dict[str, Any]) -> str:
    call_id, name, arguments = (str(line.get(field, "?")) for field in ("id", "name", "arguments"))
    return call_text(ToolCall(call_id, name, arguments))


def _usage(usage: dict[str, Any]) -> str:
    return usage_text(
        Usage(
            input_tokens=as_int(usage.get("input_tokens")),
            output_tokens=as_int(usage.get("output_tokens")),
            cached_tokens=as_int(usage.get("cached_tokens")),
            reasoning_tokens=as_int(usage.get("reasoning_tokens")),
            complete=usage.get("complete") is not False,
        )
    )


def _count(number: int, thing: str, things: str = "") -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {things or thing + 's'}"


def _text(line: dict[str, Any], name: str) -> str:
    return _shown(line.get(name, "?"))


def _shown(value: object) -> str:
    return cut(one_line(str(value)), WIDTH)


def _seconds(line: dict[str, Any], name: str) -> str:
    seconds = seconds_of(line.get(name))
    return "?" if seconds is None else f"{seconds:.3f} s"
