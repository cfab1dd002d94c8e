"""The pytest plugin as a user has it: a project is recorded against the mock provider, and replayed without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentloop.mock import MockProvider
from agentloop.testing import check

PROJECT = Path(__file__).parent / "project"


def run_pytest(
    project: Path, *arguments: str, base_url: str = "http://127.0.0.1:1/v1"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=project,
        env={**os.environ, "FORECAST_BASE_URL": base_url, "NO_COLOR": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with its cassettes, recorded from a server that is gone."""
    project = tmp_path_factory.mktemp("recorded") / "project"
    shutil.copytree(PROJECT, project)
    with MockProvider() as mock:
        run = run_pytest(project, "--agentloop-record=once", base_url=mock.base_url)
    assert run.returncode == 0, run.stdout
    return project


def test_the_first_run_writes_a_cassette_per_test_without_keys(recorded: Path) -> None:
    names = {str(path.relative_to(recorded)) for path in recorded.rglob("*.json")}
    assert names == {
        "live.json",
        "cassettes/test_forecast/test_forecast-Tokyo.json",
        "cassettes/test_forecast/test_forecast-S-xe3o-Paulo-ae9bb3f1.json",
        "cassettes/test_forecast/test_forecast_async.json",
    }
    assert check([recorded], secrets=["sk-forecast-0123456789"]) == []


def test_the_next_run_needs_no_server(recorded: Path) -> None:
    run = run_pytest(recorded)
    assert run.returncode == 0, run.stdout
    assert "5 passed" in run.stdout


def test_it_runs_under_xdist(recorded: Path) -> None:
    run = run_pytest(recorded, "-n", "2")
    assert run.returncode == 0, run.stdout
    assert "5 passed" in run.stdout


def test_a_changed_prompt_fails_with_the_difference(recorded: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(recorded, project)
    program = (project / "forecast.py").read_text("utf-8")
    (project / "forecast.py").write_text(program.replace("What is the weather in", "How is the weather in"), "utf-8")
    run = run_pytest(project, "-k", "test_forecast and Tokyo")
    assert run.returncode == 1
    assert "$.messages[0].content" in run.stdout
    assert 'recorded: "What is the weather in Tokyo?"' in run.stdout
    assert 'sent:     "How is the weather in Tokyo?"' in run.stdout
    assert "To record it: pytest --agentloop-record=all 'test_forecast.py::test_forecast[Tokyo]'" in run.stdout
    assert "httpx/" not in run.stdout  # the traceback ends in the project's own files
