"""`python.run`: a Python program of the model in a process of its own.

What it can do to you: whatever you can do with your account, unless the result says that it was confined. The process
has a clean environment (no keys), a folder of its own that is deleted afterwards, and limits for time, memory, file
size and output; it is killed with all processes of its group. That is order, not safety: by itself it may read your
files and what your programs were started with (the keys in this program's environment too), use the network, and leave
a process behind that starts a group of its own.

Where the system has them, it is confined: by `bwrap` (no network, own processes, of the disk only Python and the system
read-only, and its folder) or else by a user namespace (no network, own processes; the disk as you see it). Neither
protects from faults of the kernel. The result tells which it was.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.messages import ToolResult
from agentloop.tools.command import command_tool
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool

__all__ = ["CONFINEMENTS", "Confinement", "python_tool"]

# The limits are set in the child itself: nothing may run between fork and exec in a program that has threads.
_BOOT = (
    "import json, resource, sys\n"
    "for name, value in json.loads(sys.argv.pop(1)).items():\n"
    "    kind = getattr(resource, name)\n"
    "    hard = resource.getrlimit(kind)[1]\n"
    "    value = value if hard == resource.RLIM_INFINITY else min(value, hard)\n"
    "    resource.setrlimit(kind, (value, value))\n"
    "sys.argv[0] = 'main.py'\n"
    "names = sys.modules['__main__'].__dict__\n"
    "del json, resource, name, value, kind, hard\n"
    "exec(compile(open('main.py', 'rb').read(), 'main.py', 'exec'), names)\n"
)
_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Confinement:
    """A way to shut a process in: `wrap` gives the command that goes before the process's own, for its folder."""

    name: str
    program: str
    wrap: Callable[[str], Sequence[str]]


def python_tool(
    *,
    timeout: float = 20.0,
    memory_mb: int = 1024,
    file_mb: int = 50,
    max_output: int = 20_000,
    confinements: Sequence[Confinement] | None = None,
    python: str = sys.executable,
) -> Tool:
    """The tool. `timeout` is in seconds, `file_mb` bounds each file that is written, and `max_output` the characters of
    each output. The first of `confinements` that works here is used; () is none, and None is `CONFINEMENTS`. Raises
    ConfigError on systems that are not like Unix."""
    if os.name != "posix":
        raise ConfigError("python.run needs a system that can limit and kill processes, as Linux and macOS do")
    limits = {
        "RLIMIT_CPU": math.ceil(timeout) + 1,
        "RLIMIT_AS": memory_mb * 1024 * 1024,
        "RLIMIT_FSIZE": file_mb * 1024 * 1024,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": 256,
    }
    runner = _Runner(python, timeout, limits, max_output, CONFINEMENTS if confinements is None else tuple(confinements))

    def run(code: str, context: ToolContext) -> ToolResult:
        """Run a Python program. Only what it prints is seen; nothing is kept between two calls.

        Args:
            code: The whole program.
        """
        return runner.run(code, context)

    return tool(run, name="python.run", risk="danger", effects="once", max_result=None)


@dataclass(frozen=True, slots=True)
class _Runner:
    python: str
    timeout: float
    limits: dict[str, int]
    max_output: int
    confinements: tuple[Confinement, ...]

    def run(self, code: str, context: ToolContext) -> ToolResult:
        confinement = _first_that_works(self.confinements, self.python)
        limits = self.limits | ({"RLIMIT_NPROC": 64} if confinement else {})
        with tempfile.TemporaryDirectory(prefix="agentloop-", ignore_cleanup_errors=True) as folder:
            Path(folder, "main.py").write_bytes(code.encode("utf-8", "surrogatepass"))
            before = confinement.wrap(folder) if confinement else ()
            command = command_tool(
                "python.run",
                [*before, self.python, "-I", "-B", "-X", "utf8", "-c", _BOOT, json.dumps(limits)],
                cwd=folder,
                timeout=self.timeout,
                max_output=self.max_output,
                env=_environment(folder),
            )
            result = cast("ToolResult", command(context))
        return _with_word(result, confinement.name if confinement else "not confined")


def _with_word(result: ToolResult, word: str) -> ToolResult:
    if not isinstance(result.content, str) or not result.content.startswith("{"):
        return result
    told: dict[str, Any] = json.loads(result.content)
    return replace(result, content=json.dumps({**told, "confined": word}, ensure_ascii=False))


def _environment(folder: str) -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"}


# --- confinement -----------------------------------------------------------------------------------------------------


def _bwrap(folder: str) -> list[str]:
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    for path in dict.fromkeys(("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache")):
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in dict.fromkeys((sys.base_prefix, sys.prefix)):
        if not path.startswith("/usr/") and path != "/usr":
            command += ["--ro-bind", path, path]
    return [*command, "--bind", folder, folder, "--chdir", folder]


def _namespace(folder: str) -> list[str]:
    del folder
    return ["unshare", "--user", "--map-current-user", "--net", "--ipc", "--pid", "--fork", "--kill-child"]


CONFINEMENTS = (Confinement("bwrap", "bwrap", _bwrap), Confinement("user namespace", "unshare", _namespace))


@lru_cache(maxsize=16)
def _first_that_works(confinements: tuple[Confinement, ...], python: str) -> Confinement | None:
    """Tried, since a program that is installed may not be allowed to do its work."""
    return next((each for each in confinements if shutil.which(each.program) and _works(each, python)), None)


def _works(confinement: Confinement, python: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="agentloop-", ignore_cleanup_errors=True) as folder:
        try:
            tried = subprocess.run(
                [*confinement.wrap(folder), python, "-I", "-c", "pass"],
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return tried.returncode == 0
