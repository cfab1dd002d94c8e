"""The walkthrough is true: its scripts run with real curl and jq, their answers are those that the text shows, and the
Python twins send the same requests.

When the mock provider's words change, write what a script says into its `output.txt` or `exercise.txt`, and copy that
into both READMEs.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentloop.mock import MockProvider

CURL = Path(__file__).parents[2] / "curl"
STEPS = sorted(path.name for path in CURL.glob("[0-9]*"))
README, CHINESE = ((CURL / name).read_text("utf-8") for name in ("README.md", "README.zh-CN.md"))
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LABELLED = re.compile(r"^`(\d\d-[\w-]+/[\w.-]+)`\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
with_tools = pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="curl and jq are needed")


def provider(step: str, *, at_once: bool = False) -> MockProvider:
    """The mock provider that the step's script would start; `at_once` takes the waiting out of its faults."""
    options = CURL / step / "mock.sh"
    if not options.exists():
        return MockProvider()
    key, faults = re.search(r"--require-key (\S+) --fault (\S+)'", options.read_text("utf-8")).groups()
    return MockProvider(
        require_key=key, faults=re.sub(r"retry-after=\d+", "retry-after=0", faults) if at_once else faults
    )


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """An environment without a provider, in which `sleep` does not sleep."""
    sleep = tmp_path / "sleep"
    sleep.write_text("#!/bin/sh\n")
    sleep.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AGENTLOOP_")}
    return {**kept, "PATH": f"{tmp_path}:{kept['PATH']}", "HOME": str(tmp_path), "AGENTLOOP_PYTHON": sys.executable}


def shell(script: Path, variables: dict[str, str], **more: str) -> str:
    done = subprocess.run(["sh", str(script)], env={**variables, **more}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def at(mock: MockProvider) -> dict[str, str]:
    return {"AGENTLOOP_BASE_URL": mock.base_url, "AGENTLOOP_MODEL": mock.model, "AGENTLOOP_API_KEY": "mock-key"}


def timeless(text: str) -> str:
    return re.sub(r'("created(?:_at)?": ?)\d+', r"\1 0", text)


def shown(step: str, name: str) -> str:
    return timeless((CURL / step / name).read_text("utf-8"))


def sent(mock: MockProvider) -> list[tuple[str, str, Any]]:
    return [(request.method, request.path, request.json) for request in mock.requests]


def run_twin(step: str, mock: MockProvider) -> None:
    kept = dict(os.environ)
    os.environ.update(at(mock))
    try:
        runpy.run_path(str(CURL / step / "twin.py"), run_name="__main__")
    finally:
        os.environ.clear()
        os.environ.update(kept)


def test_there_are_twelve_steps():
    assert [step[:2] for step in STEPS] == [f"{number:02}" for number in range(1, 13)]


@with_tools
@pytest.mark.parametrize("step", STEPS)
def test_the_answer_is_the_one_shown_and_the_twin_sends_the_same(step: str, variables: dict[str, str]):
    with provider(step) as mock, provider(step, at_once=True) as twins:
        output = shell(CURL / step / "run.sh", variables, **at(mock))
        run_twin(step, twins)
    assert timeless(output) == shown(step, "output.txt")
    assert sent(mock) == sent(twins)


@pytest.mark.parametrize("step", STEPS)
def test_the_body_is_what_the_client_encodes(step: str):
    body = json.loads((CURL / step / "request.json").read_text("utf-8"))
    written = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    with provider(step, at_once=True) as mock:
        run_twin(step, mock)
    encoded = mock.requests[0].body
    if step == "10-history":  # the script adds the questions, one after another
        written, encoded = written[:-2], encoded[: len(written) - 2]
    assert written == encoded


@with_tools
@pytest.mark.parametrize("step", STEPS)
def test_the_exercise_ends_as_the_text_says(step: str, variables: dict[str, str]):
    own = "MOCK_OPTIONS" in (CURL / step / "exercise.sh").read_text("utf-8")
    with provider(step) as mock:
        output = shell(CURL / step / "exercise.sh", variables, **({} if own else at(mock)))
    assert timeless(output) == shown(step, "exercise.txt")


@with_tools
def test_with_nothing_set_a_script_starts_the_mock_provider(variables: dict[str, str]):
    assert shell(CURL / "02-answer" / "run.sh", variables) == shown("02-answer", "output.txt")


@with_tools
def test_with_nothing_set_a_twin_is_run_against_the_mock_provider(variables: dict[str, str]):
    done = subprocess.run(
        ["sh", str(CURL / "twin.sh"), "06-loop"], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout == shown("06-loop", "output.txt").splitlines(keepends=True)[-1]


@pytest.mark.parametrize("missing", ["curl", "jq"])
def test_a_missing_program_is_named(missing: str, tmp_path: Path):
    for name in {"sh", "dirname", "curl", "jq", "mktemp", "rm"} - {missing}:
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    if missing == "jq" and not (tmp_path / "curl").exists():
        pytest.skip("curl is not installed")
    script = CURL / "01-hello" / "run.sh"
    done = subprocess.run(
        [str(tmp_path / "sh"), str(script)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"{missing} is missing: install it")


@with_tools
def test_without_python_the_scripts_say_what_to_run(variables: dict[str, str]):
    variables["AGENTLOOP_PYTHON"] = "/nonexistent/python"
    done = subprocess.run(
        ["sh", str(CURL / "01-hello" / "run.sh")], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "run 'make curl' once" in done.stderr


# --- the text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [README, CHINESE], ids=["english", "chinese"])
def test_each_block_is_a_part_of_the_file_it_names(text: str):
    blocks = LABELLED.findall(text)
    assert len(blocks) > 4 * len(STEPS)
    for name, block in blocks:
        assert block.strip() in (CURL / name).read_text("utf-8"), name


def test_the_chinese_edition_has_the_same_blocks():
    assert BLOCKS.findall(CHINESE) == BLOCKS.findall(README)
    assert [name for name, _ in LABELLED.findall(CHINESE)] == [name for name, _ in LABELLED.findall(README)]


def test_both_editions_have_the_same_headings():
    assert len(re.findall(r"^## ", CHINESE, re.MULTILINE)) == len(re.findall(r"^## ", README, re.MULTILINE))


@pytest.mark.parametrize("step", STEPS)
def test_each_file_of_a_step_is_shown(step: str):
    files = {path.name for path in (CURL / step).iterdir() if path.is_file()} - {"exercise.sh", "mock.sh"}
    assert files == {name.partition("/")[2] for name, _ in LABELLED.findall(README) if name.startswith(f"{step}/")}


def test_scripts_that_are_named_exist():
    for name in re.findall(r"curl/(?:\d\d-[\w-]+/)?[\w-]+\.sh", README + CHINESE):
        assert (CURL.parent / name).is_file(), name


def test_the_loop_has_about_forty_lines():
    lines = (CURL / "06-loop" / "run.sh").read_text("utf-8").splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= 42
