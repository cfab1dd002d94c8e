"""Providers as data."""

import pytest

from agentloop.errors import ConfigError
from agentloop.wire.quirks import PRESETS, Quirks, preset


def test_the_providers_that_are_known() -> None:
    known = "openai deepseek azure openrouter groq mistral gemini vllm llama.cpp ollama litellm"
    assert set(known.split()) <= PRESETS.keys()


def test_an_unknown_provider_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown provider 'opneai'.*openai, deepseek.*quirks"):
        preset("opneai")


@pytest.mark.parametrize("row", PRESETS.values(), ids=lambda row: row.name)
def test_each_row_says_where_it_is_and_how_it_is_known(row: Quirks) -> None:
    assert row.base_url or row.base_url_env
    assert not (row.base_url or "").endswith("/")
    assert row.key_env
    assert row.model_env
    assert row.evidence != "none"


@pytest.mark.parametrize("name", ["llama.cpp", "litellm"])
def test_the_rows_with_recordings_say_so(name: str) -> None:
    assert preset(name).evidence == "recorded"


def test_a_row_of_ones_own_has_no_evidence() -> None:
    assert Quirks(name="mine", base_url="http://x").evidence == "none"
