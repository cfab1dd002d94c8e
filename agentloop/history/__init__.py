"""Histories: kept sendable, counted in tokens, and trimmed to views. Pure: no I/O, no clock."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.pairing import PairedMessages, Repaired, check, groups, repair

if TYPE_CHECKING:
    from agentloop.history.answers import (
        Answer,
        Cut,
        Impossible,
        NeedSummary,
        Policy,
        Send,
        is_pinned,
        pin,
    )
    from agentloop.history.contents import Ledger, LedgerRow, ledger
    from agentloop.history.exact import ExactCounter
    from agentloop.history.history import History
    from agentloop.history.meter import Meter
    from agentloop.history.plan import check_limits, limit_after_overflow, plan_view
    from agentloop.history.prefix import moved_path
    from agentloop.history.server_count import ServerCounter
    from agentloop.history.shorten import ShortenToolResults, read_result
    from agentloop.history.summary import SUMMARY_INSTRUCTIONS, Summary, accept_summary, summary_request
    from agentloop.history.tokens import EstimateCounter, TokenCounter, silent_truncation
    from agentloop.history.trim import KeepLast, Summarise, TokenBudget

__all__ = [
    "SUMMARY_INSTRUCTIONS",
    "Answer",
    "Cut",
    "EstimateCounter",
    "ExactCounter",
    "History",
    "Impossible",
    "KeepLast",
    "Ledger",
    "LedgerRow",
    "Meter",
    "NeedSummary",
    "PairedMessages",
    "Policy",
    "Repaired",
    "Send",
    "ServerCounter",
    "ShortenToolResults",
    "Summarise",
    "Summary",
    "TokenBudget",
    "TokenCounter",
    "accept_summary",
    "check",
    "check_limits",
    "groups",
    "is_pinned",
    "ledger",
    "limit_after_overflow",
    "moved_path",
    "pin",
    "plan_view",
    "read_result",
    "repair",
    "silent_truncation",
    "summary_request",
]

_HOMES = {
    "Answer": "answers",
    "Cut": "answers",
    "EstimateCounter": "tokens",
    "ExactCounter": "exact",
    "History": "history",
    "Impossible": "answers",
    "KeepLast": "trim",
    "Ledger": "contents",
    "LedgerRow": "contents",
    "Meter": "meter",
    "NeedSummary": "answers",
    "Policy": "answers",
    "SUMMARY_INSTRUCTIONS": "summary",
    "Send": "answers",
    "ServerCounter": "server_count",
    "ShortenToolResults": "shorten",
    "Summarise": "trim",
    "Summary": "summary",
    "TokenBudget": "trim",
    "TokenCounter": "tokens",
    "accept_summary": "summary",
    "check_limits": "plan",
    "is_pinned": "answers",
    "ledger": "contents",
    "limit_after_overflow": "plan",
    "moved_path": "prefix",
    "pin": "answers",
    "plan_view": "plan",
    "read_result": "shorten",
    "silent_truncation": "tokens",
    "summary_request": "summary",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
