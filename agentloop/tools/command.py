"""A fixed command as a tool: the model can say that it runs, and nothing else."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from functools import partial
from typing import IO

from agentloop.errors import ConfigError
from agentloop.messages import ToolResult, ToolResultKind
from agentloop.tools import process
from agentloop.tools.context import ToolContext
from agentloop.tools.limit import Excerpt
from agentloop.tools.results import error_text
from agentloop.tools.threads import in_thread
from agentloop.tools.tool import Effects, Risk, Tool

__all__ = ["command_tool"]

_CHUNK = 65_536
_LAST_WORDS = 1.0
"""Seconds to wait for the rest of the output when the process has ended."""


def command_tool(
    name: str,
    argv: Sequence[str | os.PathLike[str]],
    *,
    description: str = "",
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = 60.0,
    max_output: int = 20_000,
    env: Mapping[str, str] | None = None,
    risk: Risk | None = None,
    effects: Effects | None = None,
) -> Tool:
    """A tool without arguments that runs `argv`, just as given and without a shell.

    The result is a JSON object: `exit_status` (negative: ended by that signal), `stdout` and `stderr`. Each stream is
    cut to `max_output` characters; bytes that are not UTF-8 are replaced. A status other than 0 is an error result of
    kind `exit_status`, more than `timeout` seconds one of kind `timeout`, a command that cannot be started one of kind
    `not_started`: evidence for the model, and never the end of a run. The command reads no input. When it ends, for
    whatever reason, processes that it left in the background are killed.

    `env` replaces the whole environment; with None the command inherits this program's, its API keys included. Raises
    ConfigError for an `argv` that is empty, is one text, or holds what is neither text nor path.
    """
    if isinstance(argv, (str, bytes)) or not argv:
        raise ConfigError(f'command_tool {name}: argv is a list of texts such as ["git", "status"]; there is no shell')
    try:
        words = tuple(os.fsdecode(word) for word in argv)
    except TypeError as error:
        raise ConfigError(f"command_tool {name}: argv holds what is no text: {error}") from error
    command = _Command(words, cwd, timeout, max_output, None if env is None else dict(env))
    return Tool(
        name=name,
        description=description or f"Runs the fixed command: {' '.join(words)}",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
        function=command.run,
        risk=risk,
        effects=effects,
        max_result=None,  # the streams are cut, and the result stays JSON
    )


@dataclass(frozen=True, slots=True)
class _Command:
    argv: tuple[str, ...]
    cwd: str | os.PathLike[str] | None
    timeout: float | None
    max_output: int
    env: Mapping[str, str] | None

    def run(self, context: ToolContext) -> ToolResult:
        try:
            child = process.start(
                self.argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.cwd, env=self.env
            )
        except (OSError, ValueError) as error:
            return ToolResult(f"{self.argv[0]} was not started: {error_text(error)}", is_error=True, kind="not_started")
        out, err = Excerpt(self.max_output), Excerpt(self.max_output)
        readers = [in_thread(partial(_read, *pair), "output") for pair in ((child.stdout, out), (child.stderr, err))]
        limits = [seconds for seconds in (self.timeout, context.seconds_left()) if seconds is not None]
        exited = process.wait(child, context.cancel, min(limits, default=None))
        status = process.end(child)
        # The pipes end now, unless a process that left the group holds them; then what has come so far must do.
        futures.wait(readers, timeout=_LAST_WORDS)
        return self._result(exited, context.cancel.cancelled, status, out.text(), err.text())

    def _result(self, exited: bool, cancelled: bool, status: int, stdout: str, stderr: str) -> ToolResult:
        told: dict[str, object] = {"exit_status": status, "stdout": stdout, "stderr": stderr}
        kind: ToolResultKind | None = None if status == 0 else "exit_status"
        if not exited:
            kind = "cancelled" if cancelled else "timeout"
            told = {kind: "killed because the run was cancelled" if cancelled else "killed: its time was over", **told}
        return ToolResult(json.dumps(told, ensure_ascii=False), is_error=kind is not None, kind=kind)


def _read(pipe: IO[bytes] | None, excerpt: Excerpt) -> None:
    if pipe is None:
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with pipe:
        while chunk := os.read(pipe.fileno(), _CHUNK):
            excerpt.add(decoder.decode(chunk))
    excerpt.add(decoder.decode(b"", final=True))
