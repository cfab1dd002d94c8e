"""The commands at a pseudo-terminal: colour, escapes, approval, Ctrl-C."""

from __future__ import annotations

import signal
from pathlib import Path

from agentloop.mock import MockProvider, Reply

TOOL = """
def get_weather(city: str) -> str:
    return f"{city}: 18 degrees"
"""


def test_a_call_is_shown_and_runs_when_it_is_approved(terminal, tmp_path: Path):
    (tmp_path / "station.py").write_text(TOOL)
    session = terminal("run", "weather in Oslo?", "--mock", "--tool", "station:get_weather")
    assert 'call_1 get_weather({"city": "Oslo"})' in session.wait_for("run it?")
    session.type("y")
    session.wait_for("call_1 -> Oslo: 18 degrees")
    assert session.end() == 0


def test_a_call_does_not_run_when_it_is_refused(terminal, tmp_path: Path):
    (tmp_path / "station.py").write_text(TOOL)
    session = terminal("run", "weather in Oslo?", "--mock", "--tool", "station:get_weather")
    session.wait_for("run it?")
    session.type("n not now")
    session.wait_for("call_1 denied: the owner said no: not now")
    assert session.end() == 0
    assert "18 degrees" not in session.shown


def test_arguments_can_be_edited_from_what_the_model_wrote(terminal, tmp_path: Path):
    (tmp_path / "station.py").write_text(TOOL)
    session = terminal("run", "weather in Oslo?", "--mock", "--tool", "station:get_weather", "--max-tool-steps", "1")
    session.wait_for("run it?")
    session.type("e")
    session.wait_for('JSON object: {"city": "Oslo"}')
    session.type('\x15{"city": "Bergen"}')  # Ctrl-U empties the line first
    session.wait_for("call_1 -> Bergen: 18 degrees")


def test_always_is_not_asked_again_in_a_chat(terminal, tmp_path: Path):
    (tmp_path / "station.py").write_text(TOOL)
    session = terminal("chat", "--mock", "--tool", "station:get_weather")
    session.wait_for("> ")
    session.type("weather in Oslo?")
    session.wait_for("run it?")
    session.type("a")
    session.wait_for("answered: 2 steps")
    session.type("weather in Oslo?")
    assert "run it?" not in session.wait_for("answered: 2 steps")


def test_ctrl_c_in_a_chat_stops_the_run_and_keeps_the_conversation(terminal):
    with MockProvider("echo", faults="ok;stall=first-byte") as mock:
        session = terminal("chat", "--base-url", mock.base_url, "--model", "m")
        session.wait_for("> ")
        session.type("one")
        session.wait_for("answered: 1 step")
        session.type("two")
        session.wait_for("step 1")
        session.process.send_signal(signal.SIGINT)
        session.wait_for("stopped; the conversation is kept")
        session.type("/history")
        session.wait_for("assistant: one")
        session.wait_for("user: two")
        session.type("/quit")
        assert session.end() == 0


def test_a_terminal_gets_colour(terminal):
    session = terminal("run", "hi", "--mock", TERM="xterm-256color")
    assert session.end() == 0
    assert "\x1b[1mstep 1\x1b[0m" in session.shown


def test_no_color_is_respected(terminal):
    session = terminal("run", "hi", "--mock", TERM="xterm-256color", NO_COLOR="1")
    assert session.end() == 0
    assert "\x1b[3" not in session.shown


def test_what_a_model_writes_cannot_steer_the_terminal(terminal):
    with MockProvider(lambda question: Reply("red \x1b[31m, back \u202e.")) as mock:
        session = terminal("run", "hi", "--base-url", mock.base_url, "--model", "m")
        assert session.end() == 0
    assert "red \\x1b[31m, back \\u202e." in session.shown
    assert "\x1b[31m" not in session.shown


def test_text_is_shown_as_it_comes(terminal):
    with MockProvider("echo", faults="stall=chunks,after=4") as mock:
        session = terminal("run", "first second third fourth", "--base-url", mock.base_url, "--model", "m")
        session.wait_for("first second")
        mock.release()
        session.wait_for("third fourth")
        assert session.end() == 0
