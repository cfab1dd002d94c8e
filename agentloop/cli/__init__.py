"""The command line. Nothing but this file is loaded before the `cli` extra is known to be installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 answered (or done), 1 ended otherwise, 2 wrong usage or
    configuration, 130 interrupted. `arguments` are those of the process by default."""
    try:
        from agentloop.cli.program import program
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print("agentloop needs click for its command line: pip install 'agentloop-http[cli]'", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return program.run(arguments)
