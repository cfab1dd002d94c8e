"""`agentloop show`: what a trace tells."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.printable import printable
from agentloop.cli.screen import Screen
from agentloop.errors import ConfigError

if TYPE_CHECKING:
    from agentloop.cli.trace_digest import RunDigest
    from agentloop.cli.trace_file import RecordedTrace

__all__ = ["show"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--request", "number", type=click.IntRange(min=1), metavar="N", help="Print request N and nothing else.")
@click.option("--curl", is_flag=True, help="With --request: as a curl command for bash; keys become variables.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON: the runs summed up, or the one request.")
def show(file: Path, number: int | None, curl: bool, json_output: bool) -> None:
    """Show a trace step by step.

    \b
      agentloop run "Weather in Oslo?" --mock --demo-tools --trace run.jsonl
      agentloop show run.jsonl
      agentloop show run.jsonl --request 2 --curl

    `run` and `chat` write FILE with --trace. Each step has its requests, retries, tools, tokens and times. Damaged
    lines, as a crash leaves them, are told on stderr; the rest is shown.
    """
    from agentloop.cli.trace_file import read_trace

    if curl and (number is None or json_output):
        raise click.UsageError("--curl shows one request: give --request N, and leave out --json")
    trace = read_trace(file)
    if number is not None:
        _show_request(_request(trace, number), curl=curl, json_output=json_output)
    elif json_output:
        _show_json(trace)
    else:
        _show_steps(trace)
    for line in trace.damaged:
        Screen().note(f"{file}: line {line} is damaged, or was not written to its end; it is left out", "error")


def _show_steps(trace: RecordedTrace) -> None:
    from agentloop.cli.trace_digest import digest
    from agentloop.cli.trace_text import head_line, summary_lines, trace_lines

    page = Screen(err=sys.stdout)  # here the trajectory is what was asked for
    page.lines(head_line(trace.head))
    runs = iter(digest(trace.lines))
    current: RunDigest | None = None
    for line in trace.lines:
        if line["type"] == "run_started":
            page.lines(*(summary_lines(current) if current else ()))
            current = next(runs)
        page.lines(*trace_lines(line))
        if line["type"] == "run_finished" and current:
            page.lines(*summary_lines(current))
            current = None
    page.lines(*(summary_lines(current) if current else ()))


def _show_json(trace: RecordedTrace) -> None:
    from agentloop.cli.trace_digest import digest

    runs = [run.to_dict() for run in digest(trace.lines)]
    _print_json({**trace.head, "runs": runs, "damaged_lines": list(trace.damaged)})


def _request(trace: RecordedTrace, number: int) -> dict[str, Any]:
    requests = [line for line in trace.lines if line["type"] == "request"]
    found = [line for line in requests if line.get("request") == number]
    if not found:
        raise ConfigError(f"there is no request {number}: the trace has {len(requests)}, counted from 1")
    return found[0]


def _show_request(line: dict[str, Any], *, curl: bool, json_output: bool) -> None:
    from agentloop.cli.trace_text import request_text

    if json_output:
        _print_json(line)
    else:
        Screen().answer(_curl(line) if curl else request_text(line))


def _curl(line: dict[str, Any]) -> str:
    """The request as a command. Where a key stood in the body, the mask stands, and a note says so."""
    from agentloop.cli.trace_text import header_pairs
    from agentloop.http.curl import as_curl
    from agentloop.http.secrets import MASK
    from agentloop.http.single import single_request
    from agentloop.testing.bodies import body_from_dict

    body = {form: line[form] for form in ("body", "text", "base64") if form in line}
    chunks = body_from_dict(body, {}, "request")
    content = b"".join(chunk.data for chunk in chunks)
    if MASK.encode() in content:
        Screen().note(f"the body holds {MASK} where the trace masks a key", "error")
    return as_curl(single_request(str(line.get("method")), str(line.get("url")), header_pairs(line), content))


def _print_json(value: object) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    click.echo(text if printable(text) == text else json.dumps(value, indent=2))
