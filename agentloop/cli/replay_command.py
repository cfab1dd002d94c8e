"""`agentloop replay` and `agentloop cassette`: recorded exchanges as a server, and a look at what is in them."""

from __future__ import annotations

from pathlib import Path

import click

from agentloop.cli.program import STOPPED

__all__ = ["cassette", "replay"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--serve", "serves", is_flag=True, required=True, help="Answer on a port of this machine until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; 0 takes a free one.")
@click.option("--timing", is_flag=True, help="Send streams at the recorded pace.")
def replay(file: Path, serves: bool, port: int, timing: bool) -> None:
    """Answer requests from a cassette, until Ctrl-C.

    \b
      agentloop replay x.json --serve --port 8080

    So curl, or a client in any language, can be tested against what was recorded in FILE. A request that was not
    recorded gets a 404 that shows the difference.
    """
    from agentloop.testing.serving import serve

    del serves  # required: other ways to replay may join it
    with serve(file, port=port, timing=timing) as server:
        click.echo(f"replaying {file} at {server.url}; Ctrl-C stops it")
        try:
            server.wait()
        except KeyboardInterrupt:
            click.echo("stopped", err=True)


@click.group(no_args_is_help=True)
def cassette() -> None:
    """Work with cassettes.

    \b
      agentloop cassette check tests/cassettes
    """


@cassette.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.pass_context
def check(context: click.Context, paths: tuple[Path, ...]) -> None:
    """Look for keys in cassettes and other text files.

    \b
      agentloop cassette check tests/cassettes x.json

    Folders are searched for *.json. The exit code is 1 when there are keys.
    """
    from agentloop.testing.leaks import check as find_leaks

    leaks = find_leaks(paths)
    for leak in leaks:
        click.echo(str(leak))
    if leaks:
        context.exit(STOPPED)
    click.echo("no keys found")
