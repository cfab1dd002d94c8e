"""`agentloop run`: one prompt, one answer."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from agentloop.cli.program import ANSWERED, INTERRUPTED, STOPPED, errors_as_json
from agentloop.cli.screen import Screen
from agentloop.cli.settings import Settings, SettingsCommand, trace_option, with_settings

__all__ = ["read_prompt", "run"]


@click.command(cls=SettingsCommand)
@click.argument("prompt")
@with_settings
@trace_option
@click.option(
    "--json",
    "json_output",
    is_flag=True,
    help='Print one JSON object in place of the text; its "status" is "error" when nothing could be asked.',
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the conversation when the run has ended, however it ended; --load goes on from it.",
)
@click.pass_context
def run(
    context: click.Context, prompt: str, settings: Settings, trace: Path | None, json_output: bool, save: Path | None
) -> None:
    """Ask a model, run the tools it asks for, and answer.

    \b
      agentloop run "What is the weather in Tokyo, in Fahrenheit?" --mock --demo-tools
      agentloop run - --provider deepseek --tool weather:get_weather < prompt.txt
      agentloop run "Hi" --base-url http://localhost:8080/v1 --model any --show-requests

    The answer goes to stdout, everything else to stderr. PROMPT "-" is read from stdin. With --stream all text of the
    model goes to stdout as it comes, also what it says before it calls tools.
    """
    from agentloop.cli.agents import Assembly
    from agentloop.cli.conversations import as_json, report
    from agentloop.cli.conversations import save as save_conversation

    screen = Screen()
    question = read_prompt(prompt)
    with Assembly.open(settings, screen, quiet=json_output, trace=trace) as assembly:
        result = assembly.follow(question, assembly.loaded)
        if json_output:
            screen.answer(as_json(report(result, assembly.provider), screen.out.encoding or "ascii") + "\n")
            errors_as_json(context, False)  # one object is on stdout
        if save is not None:
            save_conversation(save, result.messages)
    if result.status == "cancelled":
        saved = f"--load {save} goes on from here" if save else "with --save FILE the conversation is kept for --load"
        screen.note(f"  interrupted: {saved}", "error")
        context.exit(INTERRUPTED)
    context.exit(ANSWERED if result.status == "answered" else STOPPED)


def read_prompt(prompt: str) -> str:
    """The prompt that an argument means. Raises UsageError for an empty one."""
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise click.UsageError('the prompt is empty: give a text, or "-" to read it from stdin')
    return text
