"""`agentloop run`: one prompt, one answer."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from agentloop.cli.program import ANSWERED, INTERRUPTED, STOPPED
from agentloop.cli.screen import Screen
from agentloop.cli.settings import Settings, SettingsCommand, with_settings

__all__ = ["read_prompt", "run"]


@click.command(
    cls=SettingsCommand,
    epilog="With nothing set up: agentloop run 'What is the weather in Tokyo, in Fahrenheit?' --mock --demo-tools",
)
@click.argument("prompt")
@with_settings
@click.option("--json", "json_output", is_flag=True, help="Print one JSON object in place of the text.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the conversation when the run has ended, however it ended; --load goes on from it.",
)
@click.pass_context
def run(context: click.Context, prompt: str, settings: Settings, json_output: bool, save: Path | None) -> None:
    """Ask PROMPT ("-" reads it from stdin), run the tools that the model asks for, and print the answer.

    The answer goes to stdout, everything else to stderr. With --stream all text of the model goes to stdout as it
    comes, also what it says before it calls tools.
    """
    from agentloop.cli.agents import Assembly
    from agentloop.cli.conversations import as_json, report
    from agentloop.cli.conversations import save as save_conversation

    screen = Screen()
    question = read_prompt(prompt)
    with Assembly.open(settings, screen, quiet=json_output) as assembly:
        result = assembly.follow(question, assembly.loaded)
        if save is not None:
            save_conversation(save, result.messages)
        if json_output:
            screen.answer(as_json(report(result, assembly.provider), screen.out.encoding or "ascii") + "\n")
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
