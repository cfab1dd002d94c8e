"""`agentloop curl`: what `run` would send, as a command for bash."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from agentloop.cli.run_command import read_prompt
from agentloop.cli.screen import Screen
from agentloop.cli.settings import Settings, SettingsCommand, with_settings
from agentloop.errors import ConfigError

if TYPE_CHECKING:
    from agentloop.http.client import Client
    from agentloop.model import ModelRequest

__all__ = ["curl"]


@click.command(cls=SettingsCommand)
@click.argument("prompt")
@with_settings
@click.option(
    "--body-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the body to FILE and let curl read it there; for long ones.",
)
@click.option("--pretty", is_flag=True, help="Indent the body. Its bytes then differ from those that the client sends.")
def curl(prompt: str, settings: Settings, body_file: Path | None, pretty: bool) -> None:
    """Print what `run` would send first, as a curl command.

    \b
      agentloop curl "Hi" --base-url http://localhost:8080/v1 --model any --stream
      agentloop curl "Hi" --base-url http://localhost:8080/v1 --model any | bash

    It is for bash, and nothing is sent. Headers and body are the client's own, byte by byte. The key is a variable;
    stderr names it when it is not set.
    """
    from agentloop.cli.agents import Assembly
    from agentloop.cli.models import key_variable
    from agentloop.http.curl import as_curl, curl_variables

    if settings.mock:
        raise click.UsageError("--mock ends with this command: start 'agentloop mock', and give its --base-url")
    if body_file is not None and pretty:
        raise click.UsageError("--pretty is for a body within the command: leave out one of --pretty and --body-file")
    screen = Screen()
    with Assembly.open(settings, screen, quiet=True, unsent=True) as assembly:
        request = assembly.first_request(read_prompt(prompt), assembly.loaded, stream=settings.stream or False)
        built = _build(cast("Client", assembly.model), request)
    file = str(body_file) if body_file is not None else None
    variable = key_variable(settings)
    text = as_curl(built, key_variable=variable, body_file=file, pretty=pretty)
    if body_file is not None:
        body_file.write_bytes(built.content)
    _write(text)
    for name in curl_variables(built, key_variable=variable):
        if not os.environ.get(name):
            screen.note(f"set {name} before you run it")


def _build(client: Client, request: ModelRequest) -> Any:
    return client.build_request(
        request.messages,
        stream=request.stream,
        tools=request.tools,
        tool_choice=request.tool_choice,
        instructions=request.instructions,
        **request.options,
    )


def _write(text: str) -> None:
    """The exact bytes, or an error where they would do something to the terminal."""
    from agentloop.cli.printable import printable

    if sys.stdout.isatty() and printable(text) != text:
        raise ConfigError("the request holds characters that steer a terminal: send the output to a file or to bash")
    click.echo(text.encode(), nl=False)
