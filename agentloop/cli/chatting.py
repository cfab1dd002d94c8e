"""A conversation line by line: what is said, and the commands that begin with a slash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentloop.cli.agents import Assembly
from agentloop.cli.conversations import load, save
from agentloop.cli.printable import one_line
from agentloop.cli.rendering import cut_text, describe_message, usage_text
from agentloop.cli.screen import Line, Screen
from agentloop.errors import AgentLoopError
from agentloop.loop.run import Run
from agentloop.messages import Message
from agentloop.model import Usage

__all__ = ["Chat"]


class Chat:
    """Holds the conversation. `open` is false once /quit was given."""

    def __init__(self, assembly: Assembly, screen: Screen) -> None:
        self.open = True
        self.messages: tuple[Message, ...] = assembly.loaded
        self._assembly = assembly
        self._screen = screen
        self._last: Run | None = None
        self._usage = Usage()
        self._commands: dict[str, tuple[str, Callable[[str], None]]] = {
            "/help": ("this list", self._help),
            "/history": ("the conversation so far", self._history),
            "/clear": ("forget the conversation", self._clear),
            "/undo": ("forget the last question and all that followed it", self._undo),
            "/save": ("FILE: write the conversation", self._save),
            "/load": ("FILE: go on from a saved conversation", self._load),
            "/system": ("TEXT: instructions from now on; without TEXT show them", self._system),
            "/tools": ("the tools that the model may call", self._tools),
            "/context": ("what fills the model's context", self._context),
            "/quit": ("leave", self._quit),
        }

    def take(self, line: str) -> None:
        """Answer one line. Errors are shown, and the conversation stays as it was."""
        try:
            if line.startswith("/"):
                self._command(line.rstrip())
            elif line.strip():
                self._say(line.strip())
        except (AgentLoopError, OSError) as error:
            self._screen.note(str(error), "error")

    def _say(self, text: str) -> None:
        result = self._assembly.follow(text, self.messages, self._last)
        self.messages, self._last = result.messages, result.run
        self._usage += result.usage
        if result.status == "cancelled":
            self._screen.note("stopped; the conversation is kept, and /undo takes the last question back")

    def _go_on_from(self, messages: tuple[Message, ...]) -> None:
        self.messages, self._last = messages, None

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name not in self._commands:
            hint = "/help lists them; to say it to the model, begin with a blank"
            self._screen.note(f"there is no command {name}: {hint}", "error")
            return
        self._commands[name][1](rest.strip())

    def _help(self, _: str) -> None:
        self._screen.lines(*(Line(f"{name:9} {about}") for name, (about, _) in self._commands.items()))

    def _history(self, _: str) -> None:
        lines = [Line(describe_message(message)) for message in self.messages]
        self._screen.lines(*lines or [Line("nothing was said yet", "note")])

    def _clear(self, _: str) -> None:
        self._go_on_from(())
        self._screen.note("the conversation is forgotten; instructions and tools stay")

    def _undo(self, _: str) -> None:
        asked = [index for index, message in enumerate(self.messages) if message.role == "user"]
        if not asked:
            self._screen.note("there is nothing to undo")
            return
        self._screen.note(f"forgotten: {one_line(self.messages[asked[-1]].text)}")
        self._go_on_from(self.messages[: asked[-1]])

    def _save(self, file: str) -> None:
        if not file:
            self._screen.note("name a file: /save FILE", "error")
            return
        save(Path(file).expanduser(), self.messages)
        self._screen.note(f"{len(self.messages)} messages written to {file}")

    def _load(self, file: str) -> None:
        if not file:
            self._screen.note("name a file: /load FILE", "error")
            return
        self._go_on_from(load(Path(file).expanduser()))
        self._screen.note(f"{len(self.messages)} messages read from {file}")

    def _system(self, text: str) -> None:
        if text:
            self._assembly.instructions = text
        self._screen.note(f"instructions: {self._assembly.instructions or 'none'}")

    def _tools(self, _: str) -> None:
        lines = [
            Line(
                f"{tool.name} (risk {tool.risk or 'not declared'}): {one_line(tool.description.partition(chr(10))[0])}"
            )
            for tool in self._assembly.tools
        ]
        self._screen.lines(*lines or [Line("no tools; --tool and --demo-tools offer some", "note")])

    def _context(self, _: str) -> None:
        if self._last is None:
            self._screen.note("nothing was sent yet")
            return
        context = self._last.context()
        head = f"the last request: {context.total:,} tokens, {context.known_tokens:,} of them known"
        rows = [Line(f"{row.tokens:8,} {one_line(row.name)}") for row in context.rows]
        self._screen.lines(Line(head), *rows)
        if context.last_cut:
            self._screen.note(cut_text(context.last_cut))
        self._screen.note(f"spent in this conversation: {usage_text(self._usage)}")

    def _quit(self, _: str) -> None:
        self.open = False
