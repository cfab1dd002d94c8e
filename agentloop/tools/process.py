"""Child processes that can be ended whole: the process, and all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence

from agentloop.cancel import CancelSignal
from agentloop.tools.threads import in_thread

__all__ = ["end", "start", "wait"]


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


def wait(process: subprocess.Popen[bytes], cancel: CancelSignal, seconds: float | None) -> bool:
    """Wait until the process has ended, `cancel` is set, or the time is over; tells whether it has ended.

    Call `end` afterwards in any case. On Ctrl-C the process is ended before KeyboardInterrupt goes on.
    """
    wake = threading.Event()
    ended = in_thread(lambda: _until_ended(process), "process")
    ended.add_done_callback(lambda _: wake.set())
    forget = cancel.on_cancel(wake.set)
    try:
        wake.wait(None if seconds is None else min(seconds, threading.TIMEOUT_MAX))
    except BaseException:
        end(process)
        raise
    finally:
        forget()
    return ended.done()


def _until_ended(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "waitid"):
        # Left unreaped, the process keeps its number, so that `end` cannot hit a stranger which got it since.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


def end(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the process and its children, reap it, and give its exit status (negative: the signal)."""
    if os.name == "posix":
        # Also when the process itself has ended: what it started may still run in its group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    return process.wait()
