"""`agentloop chat`: a conversation, and its commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentloop.mock import MockProvider


@pytest.fixture
def chat(agentloop):
    """What a chat with the stand-in shows, stdout and stderr interleaved, when these lines are typed."""

    def talk(*lines: str, options: tuple[str, ...] = ("--mock", "--demo-tools")) -> str:
        done = agentloop("chat", *options, input="".join(f"{line}\n" for line in lines))
        assert done.exit_code == 0, done.output
        return done.output

    return talk


def test_answers_stand_on_stdout(agentloop):
    done = agentloop("chat", "--mock", "--demo-tools", input="weather in Oslo?\n/quit\n")
    assert done.stdout == "In Oslo it is -3.5 °C and snowy.\n"


def test_the_model_is_sent_the_whole_conversation(chat):
    with MockProvider("echo") as mock:
        chat("one", "two", options=("--base-url", mock.base_url, "--model", "m"))
    assert [m["content"] for m in mock.requests[1].json["messages"]] == ["one", "one", "two"]


def test_history_shows_what_was_said_and_called(chat):
    assert (
        "user: weather in Oslo?\n"
        'assistant: call_1 get_weather({"city": "Oslo"})\n'
        'tool call_1: {"city":"Oslo","celsius":-3.5,"sky":"snowy"}\n'
        "assistant: In Oslo it is -3.5 °C and snowy.\n"
    ) in chat("weather in Oslo?", "/history")


def test_undo_takes_the_last_question_and_its_answer_back(chat):
    shown = chat("hi", "weather in Oslo?", "/undo", "/history")
    assert "forgotten: weather in Oslo?" in shown
    assert shown.splitlines()[-2].startswith("user: hi")


def test_undo_of_nothing_says_so(chat):
    assert "nothing to undo" in chat("/undo")


def test_clear_forgets_the_conversation(chat):
    assert chat("hi", "/clear", "/history").endswith("nothing was said yet\n")


def test_a_saved_conversation_is_loaded_as_it_was(chat, tmp_path: Path):
    file = tmp_path / "talk.json"
    chat("weather in Oslo?", f"/save {file}")
    saved = json.loads(file.read_text("utf-8"))
    assert [message["role"] for message in saved] == ["user", "assistant", "tool", "assistant"]
    assert all(message["schema"] == 1 for message in saved)
    shown = chat(f"/load {file}", "/history")
    assert "4 messages read" in shown
    assert "assistant: In Oslo" in shown


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/save", "/save FILE"),
        ("/load", "/load FILE"),
        ("/load nowhere.json", "nowhere.json: cannot be read"),
        ("/save /no/such/folder/x.json", "No such file or directory"),
        ("/nonsense", "there is no command /nonsense"),
    ],
)
def test_a_command_that_cannot_be_done_says_why_and_the_chat_goes_on(chat, line: str, told: str):
    shown = chat(line, "hi")
    assert told in shown
    assert "I am a rule-driven stand-in" in shown


def test_instructions_can_be_changed(chat):
    with MockProvider("echo") as mock:
        shown = chat("/system be brief", "hi", "/system", options=("--base-url", mock.base_url, "--model", "m"))
    assert mock.requests[0].json["messages"][0] == {"role": "system", "content": "be brief"}
    assert shown.count("instructions: be brief") == 2


def test_tools_are_listed_with_their_risk(chat):
    assert "get_weather (risk read): Tell the current weather of a city" in chat("/tools")
    assert "no tools" in chat("/tools", options=("--mock",))


def test_context_shows_what_the_last_request_held(chat):
    shown = chat("hi", "/context")
    assert "the last request: " in shown
    assert " convert_temperature\n" in shown
    assert "spent in this conversation: " in shown


def test_context_before_anything_was_sent_says_so(chat):
    assert "nothing was sent yet" in chat("/context")


def test_help_lists_all_commands(chat):
    shown = chat("/help")
    for name in ["/help", "/history", "/clear", "/undo", "/save", "/load", "/system", "/tools", "/context", "/quit"]:
        assert f"\n{name} " in f"\n{shown}"


def test_a_failed_run_leaves_the_conversation_usable(chat):
    with MockProvider("echo", faults="status=500;ok") as mock:
        options = ("--base-url", mock.base_url, "--model", "m", "--retries", "0")
        shown = chat("one", "two", options=options)
    assert "model_error" in shown
    assert "two\n" in shown


def test_a_long_conversation_keeps_within_a_small_context(chat):
    questions = [f"weather in {city}?" for city in ("Oslo", "Cairo", "Paris", "Tokyo", "Berlin", "London")]
    shown = chat(*questions, "/context", options=("--mock", "--demo-tools", "--context-limit", "500"))
    assert shown.count("answered: 2 steps") == 6
    assert "trimmed: " in shown
    assert "model_error" not in shown


def test_a_line_that_begins_with_a_blank_is_said_even_if_it_looks_like_a_command(chat):
    with MockProvider("echo") as mock:
        chat(" /quit", options=("--base-url", mock.base_url, "--model", "m"))
    assert mock.requests[0].json["messages"][-1]["content"] == "/quit"


def test_the_context_that_was_sent_is_known_once_it_was_reported(chat):
    for limit in ((), ("--context-limit", "100000")):
        [line] = [
            line for line in chat("hi", "/context", options=("--mock", *limit)).splitlines() if "request:" in line
        ]
        total, known = (word for word in line.split() if word.isdigit())
        assert total == known != "0"
