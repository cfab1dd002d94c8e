"""The HTTP client, sync and async: the only part of the wire column that does I/O."""

from __future__ import annotations

import sys
from types import ModuleType


def _httpx_main(*arguments: object) -> None:
    """httpx's own command line, loaded when it is really called."""
    del sys.modules["httpx._main"]
    from httpx._main import main

    main(*arguments)


# `import httpx` also imports httpx's command line, when click and rich are installed, and they take a third of its
# time. Unless httpx is there already, its command line is left for whoever calls it.
if "httpx" not in sys.modules:
    _deferred = ModuleType("httpx._main", "The command line of httpx, deferred.")
    vars(_deferred)["main"] = _httpx_main
    sys.modules.setdefault("httpx._main", _deferred)
