"""The program `agentloop`: its commands, each loaded when it is used, and what errors look like."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from agentloop._version import __version__
from agentloop.errors import AgentLoopError, ConfigError

__all__ = [
    "ANSWERED",
    "INTERRUPTED",
    "STOPPED",
    "WRONG",
    "Commands",
    "Program",
    "errors_as_json",
    "program",
    "show_tracebacks",
]

ANSWERED, STOPPED, WRONG, INTERRUPTED = 0, 1, 2, 130

_TRACEBACKS = "agentloop.tracebacks"
_AS_JSON = "agentloop.errors_as_json"


class _Wrong(click.ClickException):
    """The set-up must be mended before the command can work."""

    exit_code = WRONG


def show_tracebacks(context: click.Context) -> None:
    """From here on an error of this command comes with its traceback."""
    context.meta[_TRACEBACKS] = True


def errors_as_json(context: click.Context, wanted: bool = True) -> None:
    """Whether from here on an error is also one JSON object on stdout: `{"status": "error", "error": {...}}`."""
    context.meta[_AS_JSON] = wanted


class Commands(click.Group):
    """A group whose commands are named as "module:attribute" and imported when they are asked for."""

    def __init__(self, *args: Any, where: dict[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._where = where

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._where)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._where:
            return None
        module, _, attribute = self._where[cmd_name].partition(":")
        return getattr(import_module(module), attribute)


class Program(Commands):
    """The outermost group. Errors become one or a few lines on stderr and an exit code; tracebacks are for those who
    ask for them."""

    def run(self, arguments: Sequence[str] | None = None) -> int:
        try:
            self.main(arguments, prog_name="agentloop")
        except SystemExit as leaving:
            return leaving.code if isinstance(leaving.code, int) else STOPPED
        return ANSWERED

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except Exception as error:
            if ctx.meta.get(_AS_JSON):
                click.echo(_error_object(error))
            if isinstance(error, click.ClickException):
                raise
            raise _failure(error, ctx) from None


def _error_object(error: Exception) -> str:
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return json.dumps({"status": "error", "error": {"type": type(error).__name__, "message": message}}, indent=2)


def _failure(error: Exception, context: click.Context) -> click.ClickException:
    from agentloop.cli.printable import printable

    wanted = context.meta.get(_TRACEBACKS) or os.environ.get("AGENTLOOP_TRACEBACK", "") not in ("", "0")
    if wanted:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, ConfigError):
        return _Wrong(printable(str(error)))
    if isinstance(error, AgentLoopError):
        return click.ClickException(printable(str(error)))
    if isinstance(error, OSError) and error.filename is not None:
        return click.ClickException(printable(f"{error.filename}: {error.strerror}"))
    hint = "" if wanted else " (AGENTLOOP_TRACEBACK=1 shows where)"
    return click.ClickException(printable(f"{type(error).__name__}: {error}{hint}"))


program = Program(
    name="agentloop",
    help="""Ask a model, run the tools it asks for, and answer: over plain HTTP, with every step in sight.

    \b
      agentloop run "What is the weather in Tokyo, in Fahrenheit?" --mock --demo-tools
      agentloop chat --provider openai
      agentloop run --help
    """,
    epilog="Exit codes: 0 answered, 1 ended otherwise, 2 wrong usage or configuration, 130 interrupted.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    where={
        "run": "agentloop.cli.run_command:run",
        "chat": "agentloop.cli.chat_command:chat",
        "curl": "agentloop.cli.curl_command:curl",
        "from-curl": "agentloop.cli.from_curl_command:from_curl",
        "mock": "agentloop.cli.mock_command:mock",
        "policy": "agentloop.cli.policy_command:policy",
        "replay": "agentloop.cli.replay_command:replay",
        "show": "agentloop.cli.show_command:show",
        "cassette": "agentloop.cli.replay_command:cassette",
    },
)
click.version_option(__version__, prog_name="agentloop", message="%(prog)s %(version)s")(program)
