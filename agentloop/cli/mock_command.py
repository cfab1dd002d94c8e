"""`agentloop mock`: the stand-in as a server."""

from __future__ import annotations

import shlex

import click

__all__ = ["mock"]


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; 0 takes a free one.")
@click.option(
    "--scenario",
    default="weather",
    show_default=True,
    metavar="weather|echo|FILE",
    help="Rules about the weather, the prompt sent back, or a JSON file with replies to give in order.",
)
@click.option("--require-key", metavar="KEY", help="Refuse requests without this key.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="SPEC",
    help="What goes wrong, one entry per request; may be repeated. For example: status=429,retry-after=1;then=ok",
)
def mock(port: int, scenario: str, require_key: str | None, faults: tuple[str, ...]) -> None:
    """Serve rules in place of a model, until Ctrl-C.

    \b
      agentloop mock --port 8080
      agentloop mock --scenario echo --fault "status=429,retry-after=1;then=ok"

    It speaks Chat Completions, Responses and Anthropic Messages, and refuses what the real servers refuse.

    \b
    Faults: ok, status=CODE, error=MESSAGE, stall=first-byte|content|chunks, drip=N, keepalive=N, cut-after=N,
    cut-inside=N, end-after=N, close, reset, reset-after=N, duplicate=N, bad-json=N, html=CODE, wrong-length=N, gzip.
    Options follow after commas: times=N, chance=P, seconds=S, retry-after=S, header:NAME=VALUE and others.
    """
    from agentloop.mock import serve
    from agentloop.mock.received import ReceivedRequest

    def ready(base_url: str) -> None:
        click.echo(f"base URL: {base_url}")
        click.echo(curl_line(base_url, needs_key=require_key is not None))
        click.echo("a rule-driven stand-in, no model; Ctrl-C stops it")

    def seen(request: ReceivedRequest) -> None:
        click.echo(f"{request.method} {request.path}", err=True)

    serve(port=port, scenario=scenario, require_key=require_key, faults=faults, ready=ready, seen=seen)


def curl_line(base_url: str, *, needs_key: bool) -> str:
    """A request to try in bash. The key stays a variable."""
    key = ' -H "Authorization: Bearer $KEY"' if needs_key else ""
    body = '{"model": "agentloop-mock-rules", "messages": [{"role": "user", "content": "hi"}]}'
    return f"curl -s {base_url}/chat/completions -H 'Content-Type: application/json'{key} -d {shlex.quote(body)}"
