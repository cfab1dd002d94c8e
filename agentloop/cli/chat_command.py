"""`agentloop chat`: a conversation at the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from agentloop.cli.screen import Screen
from agentloop.cli.settings import Settings, SettingsCommand, trace_option, with_settings

__all__ = ["chat"]


@click.command(cls=SettingsCommand)
@with_settings
@trace_option
def chat(settings: Settings, trace: Path | None) -> None:
    """Talk with a model that may use tools.

    \b
      agentloop chat --mock --demo-tools
      agentloop chat --provider openai --system "Be brief." --load talk.json

    Lines that begin with / are commands; /help lists them. Ctrl-C stops the run that is going on and keeps the
    conversation; /quit or the end of the input leaves.
    """
    from agentloop.cli.agents import Assembly
    from agentloop.cli.chatting import Chat

    screen = Screen()
    with Assembly.open(settings, screen, trace=trace) as assembly:
        conversation = Chat(assembly, screen)
        at_terminal = screen.source.isatty()
        if at_terminal:
            model = assembly.model
            screen.note(f"{model.provider} {model.model}; /help lists commands, /quit leaves")
        while conversation.open:
            try:
                line = screen.ask("> " if at_terminal else "")
            except KeyboardInterrupt:
                screen.note("\n/quit leaves")
                continue
            if line is None:
                break
            conversation.take(line)
