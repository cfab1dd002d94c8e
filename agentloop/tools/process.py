"""Child processes that can be ended whole: the process, and all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

__all__ = ["end", "start"]


def start(
    argv: Sequence[str],
    *,
    stdin: int,
    stderr: int | None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `argv` without a shell, its stdout in a pipe, in a session of its own: Ctrl-C at the terminal does not
    reach it, and `end` reaches its children. Raises OSError or ValueError when it cannot be started."""
    return subprocess.Popen(
        argv,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=os.name == "posix",
    )


def end(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the process and its children, reap it, and give its exit status (negative: the signal)."""
    if os.name == "posix":
        # Also when the process itself has ended: what it started may still run in its group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    return process.wait()
