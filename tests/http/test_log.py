"""What is logged, and when it shows."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

from tests.http.peers import OK, Answers, Driver, error

PROGRAM = """
import httpx
from agentloop.http.client import Client
answers = [httpx.Response(429, headers={"retry-after-ms": "1"}), httpx.Response(200, json=%r)]
transport = httpx.MockTransport(lambda _: answers.pop(0))
Client("http://model.test/v1?key=sk-SECRET-123456", model="m", transport=transport).respond("hi")
"""


def test_attempts_are_logged_under_our_name(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "agentloop")
    driver.respond(Answers(error(429, {"message": "slow"}, retry_after="2"), OK))
    lines = [record.getMessage() for record in caplog.records if record.name == "agentloop.http"]
    assert "429: slow" in lines[0]
    assert "next try in 2.00 s (retry-after)" in lines[0]
    assert "200 in" in lines[1]


@pytest.mark.parametrize(("level", "lines"), [("debug", 2), ("info", 1), ("", 0), ("nonsense", 0)])
def test_a_variable_shows_the_log_and_silence_is_the_default(level: str, lines: int) -> None:
    environment = {**os.environ, "AGENTLOOP_LOG": level}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM % OK], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
    assert ran.stderr.count("POST http://model.test/v1/chat/completions?key=***") == lines
    assert "SECRET" not in ran.stderr
