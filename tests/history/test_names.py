"""What `agentloop.history` offers, and what a program that does not trim is spared."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentloop import history


@pytest.mark.parametrize("name", history.__all__)
def test_every_name_loads(name: str):
    assert getattr(history, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = history.nonsense


def test_no_name_is_hidden_by_a_module_of_the_same_name():
    code = (
        "from importlib import import_module as load; from agentloop import history; "
        "[load(f'agentloop.history.{home}') for home in set(history._HOMES.values())]; "
        "assert not [n for n in history.__all__ if type(getattr(history, n)) is type(history)]"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_that_neither_trims_nor_is_counted_loads_no_history():
    code = (
        "import sys; from agentloop import Agent; from agentloop.testing import ScriptedModel; "
        "assert Agent(ScriptedModel(['fine'])).run('hi').text == 'fine'; sys.exit('agentloop.history' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_trims_is_not_loaded_to_count():
    code = "import sys; import agentloop.loop.counting; sys.exit('agentloop.history.plan' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
