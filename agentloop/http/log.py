"""Logging under `agentloop.http`: silent unless asked; nothing enters it without redaction."""

from __future__ import annotations

import logging
import os

__all__ = ["log_from_environment", "logger"]

logger = logging.getLogger("agentloop.http")


def log_from_environment() -> None:
    """AGENTLOOP_LOG=debug (or info, warning) shows the log of `agentloop` on stderr, unless the program has set its
    own handler there."""
    level = logging.getLevelNamesMapping().get(os.environ.get("AGENTLOOP_LOG", "").strip().upper())
    root = logging.getLogger("agentloop")
    if level is None or root.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    root.addHandler(handler)
    root.setLevel(level)
