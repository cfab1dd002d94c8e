"""Histories: kept sendable, counted in tokens, and trimmed to views. Pure: no I/O, no clock."""

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
from agentloop.history.exact import ExactCounter
from agentloop.history.history import History
from agentloop.history.ledger import Ledger, LedgerRow, ledger
from agentloop.history.meter import Meter
from agentloop.history.plan import check_limits, limit_after_overflow, plan_view
from agentloop.history.prefix import moved_path
from agentloop.history.server_count import ServerCounter
from agentloop.history.shorten import ShortenToolResults, read_result
from agentloop.history.summary import SUMMARY_INSTRUCTIONS, Summary, accept_summary, summary_request
from agentloop.history.tokens import EstimateCounter, TokenCounter, silent_truncation
from agentloop.history.trim import KeepLast, Summarise, TokenBudget
from agentloop.pairing import PairedMessages, Repaired, check, groups, repair

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
