"""Keeping a test off the network: sockets other than loopback's are refused, with a hint."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

__all__ = ["NetworkBlocked", "network_blocked"]


class NetworkBlocked(AssertionError):
    """Something tried to leave this machine while a cassette was to answer."""


class _State:
    hint: str | None = None
    installed = False


@contextmanager
def network_blocked(hint: str) -> Generator[None]:
    """Within the block, connecting or sending to another machine, or looking up its name, raises NetworkBlocked.

    It holds for the whole process, all threads included. `hint` says what to do and is shown.
    """
    if not _State.installed:
        # An audit hook sees sockets of every library, and cannot be taken back: it is installed when first needed.
        sys.addaudithook(_refuse)
        _State.installed = True
    before, _State.hint = _State.hint, hint
    try:
        yield
    finally:
        _State.hint = before


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if _State.hint is None or not event.startswith("socket."):
        return
    host: object = None
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address: Any = args[1]
        host = cast("tuple[Any, ...]", address)[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0]
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if isinstance(host, str) and not _is_loopback(host):
        raise NetworkBlocked(f"a connection to {host} was refused. {_State.hint}")


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host in ("", "localhost") or host.endswith(".localhost")
