"""Commands run in-process, in a process of their own, and at a pseudo-terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentloop.cli.program import program
from agentloop.cli.screen import Screen

SECONDS = 30


@pytest.fixture(autouse=True)
def no_provider() -> Iterator[None]:
    """No variable of the machine that runs the tests names a provider."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if re.search("_(API_KEY|BASE_URL|MODEL)$", name)}
    yield
    os.environ.update(kept)


@pytest.fixture
def agentloop() -> Callable[..., Result]:
    """Run a command in this process: `agentloop("run", "hi", "--mock", input=...)`."""

    def invoke(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(program, arguments, prog_name="agentloop", **options)

    return invoke


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command as a process of its own, with pipes."""
    started: list[subprocess.Popen[str]] = []

    def popen(*arguments: str, **options: Any) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "agentloop", *arguments]
        process = subprocess.Popen(command, text=True, encoding="utf-8", **{**pipes, **options})
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.communicate()


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Typed:
    """A screen at which a person types lines; `shown` is what stands on it."""

    def __init__(self, *lines: str) -> None:
        self.err = FakeTerminal()
        self.screen = Screen(io.StringIO(), self.err, FakeTerminal("".join(f"{line}\n" for line in lines)))

    @property
    def shown(self) -> str:
        return re.sub(r"\x1b\[[\d;]*m", "", self.err.getvalue())


@pytest.fixture
def typed() -> type[Typed]:
    return Typed


class Terminal:
    """A command at a pseudo-terminal."""

    def __init__(self, *arguments: str, cwd: Path, variables: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentloop", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**kept, "TERM": "dumb", **variables},
        )
        os.close(slave)
        self.shown = ""
        self._read = 0

    def wait_for(self, text: str) -> str:
        """Read until the text is shown below what was waited for before; gives what came up to it."""
        while (at := self.shown.find(text, self._read)) < 0:
            assert self._more(), f"{text!r} did not come: {self.shown!r}"
        found, self._read = self.shown[self._read : at + len(text)], at + len(text)
        return found

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def end(self) -> int:
        while self._more():
            pass
        return self.process.wait(SECONDS)

    def _more(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], SECONDS)
        assert ready, f"nothing came for {SECONDS} s: {self.shown!r}"
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            return False
        self.shown += piece.decode("utf-8", "replace")
        return bool(piece)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start a command at a pseudo-terminal, in the test's folder: `terminal("chat", "--mock", TERM="xterm")`."""
    opened: list[Terminal] = []

    def start(*arguments: str, **variables: str) -> Terminal:
        opened.append(Terminal(*arguments, cwd=tmp_path, variables=variables))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
