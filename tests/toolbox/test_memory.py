"""The store of passages, and the memory tools over it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.toolbox.memory import memory_tools
from agentloop.toolbox.passages import PassageStore

NOON = 1_796_040_000.0


@pytest.fixture
def store(tmp_path: Path) -> PassageStore:
    made = PassageStore.at(tmp_path / "memory.sqlite", clock=lambda: NOON)
    made.add("Anna likes green tea.", "a test")
    made.add("The printer is on the second floor.", "a test")
    return made


def found(store: PassageStore, query: str) -> list[str]:
    return [passage.text for passage in store.find(query, 5)]


@pytest.mark.parametrize("query", ["tea", "TEA?", "What does Anna drink, tea?", "gree", "ännä"])
def test_a_text_is_found_by_its_words(store: PassageStore, query: str):
    assert found(store, query) == ["Anna likes green tea."]


def test_the_text_with_more_of_the_words_comes_first(store: PassageStore):
    store.add("Tea is on the second floor.", "a test")
    assert found(store, "second floor tea")[0] == "Tea is on the second floor."


def test_a_passage_carries_its_origin_and_its_day(store: PassageStore):
    assert store.find("tea", 1)[0].origin == "a test, 2026-11-30"


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "tea OR printer NOT x",
        "NEAR(tea printer)",
        "text:tea",
        "*",
        "a'; DROP TABLE passages; --",
        "(",
        "",
        "^tea",
        "-",
    ],
)
def test_no_query_is_more_than_words(store: PassageStore, query: str):
    store.find(query, 5)
    assert found(store, "tea") == ["Anna likes green tea."]


@given(query=st.text(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_query_can_be_asked(store: PassageStore, query: str):
    assert len(store.find(query, 5)) <= 5


def test_the_same_text_is_kept_once(store: PassageStore):
    assert store.add("Anna likes green tea.", "again") is False
    assert len(found(store, "tea")) == 1


def test_a_store_that_is_not_there_yet_finds_nothing_and_is_not_made(tmp_path: Path):
    path = tmp_path / "none.sqlite"
    assert PassageStore.at(path).find("tea", 5) == ()
    assert not path.exists()


def test_a_store_needs_its_folder(tmp_path: Path):
    with pytest.raises(ConfigError, match="does not exist"):
        PassageStore.at(tmp_path / "no" / "m.sqlite")


def test_a_file_that_is_no_store_is_an_error(tmp_path: Path):
    (tmp_path / "m.sqlite").write_text("hello, this is a text and no database at all")
    with pytest.raises(ConfigError, match="no store of passages"):
        PassageStore.at(tmp_path / "m.sqlite").find("tea", 5)


def test_many_threads_may_write(tmp_path: Path):
    store = PassageStore.at(tmp_path / "m.sqlite")
    threads = [threading.Thread(target=store.add, args=(f"note {n}", "a test")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.find("note", 50)) == 8


# --- the tools -------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path: Path, calling: Callable[..., Any]) -> Any:
    return calling(memory_tools(tmp_path / "memory.sqlite", clock=lambda: NOON))


def test_what_is_saved_is_found_with_its_origin(memory: Any):
    assert memory.text("memory.save", text="Anna likes green tea.") == "saved"
    assert memory.text("memory.search", query="tea") == (
        "[1] Anna likes green tea.\n(origin: noted by the model in run r1, 2026-11-30)"
    )


def test_saving_again_is_no_second_note(memory: Any):
    memory.text("memory.save", text="x y")
    assert memory.text("memory.save", text=" x y ") == "known already"


def test_an_empty_or_endless_note_is_refused(memory: Any):
    assert "nothing to save" in memory.refusal("memory.save", text="  ")
    assert "at most 4000" in memory.refusal("memory.save", text="x" * 4001)


def test_finding_nothing_is_said(memory: Any):
    assert memory.text("memory.search", query="tea") == "nothing found"


def test_the_tools_say_what_they_are(tmp_path: Path):
    assert [(tool.name, tool.risk, tool.effects) for tool in memory_tools(tmp_path / "m")] == [
        ("memory.save", "write", "idempotent"),
        ("memory.search", "read", "none"),
    ]
