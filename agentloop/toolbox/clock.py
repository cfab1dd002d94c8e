"""`time.now`: the date and the time. It tells the model your clock, and with it perhaps your time zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone, tzinfo

from agentloop.errors import ToolError
from agentloop.tools.tool import Tool, tool

__all__ = ["time_tool"]


def _system_clock(zone: tzinfo | None) -> datetime:
    return datetime.now(zone).astimezone(zone)


def time_tool(*, clock: Callable[[tzinfo | None], datetime] = _system_clock) -> Tool:
    """`clock` gives the time in a zone, or for None in the local one; for tests."""

    def now(zone: str = "UTC") -> str:
        """Tell the date and the time now, with the day of the week.

        Args:
            zone: A time zone such as Europe/Berlin; UTC; or local, the zone of the computer.
        """
        moment = clock(_zone(zone))
        return f"{moment.isoformat(timespec='seconds')} ({moment:%A}, week {moment.isocalendar().week})"

    return tool(now, name="time.now", risk="read", effects="none", parallel=True)


def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    if name.lower() in ("utc", "local"):
        return timezone.utc if name.lower() == "utc" else None  # noqa: UP017 # the alias has no type of its own
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # not there, or a name that leads elsewhere
        raise ToolError(f"there is no time zone {name[:100]!r} here: write one as Europe/Berlin, or UTC") from None
