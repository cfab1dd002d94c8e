"""README is true: its code runs, its commands exist, its tables name what is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from agentloop.loop.result import Status
from agentloop.mock import MockProvider
from agentloop.tools.policy import ToolRequest
from agentloop.tools.policy_file import TomlPolicy
from agentloop.wire.quirks import PRESETS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SCRIPTS = [code for language, code in BLOCKS if language == "python"]


@pytest.mark.parametrize("code", SCRIPTS, ids=range(len(SCRIPTS)))
def test_every_script_runs(code: str, tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(code, "utf-8")
    with MockProvider() as mock:
        variables = {"AGENTLOOP_BASE_URL": mock.base_url, "AGENTLOOP_MODEL": "agentloop-mock-rules"}
        ran = subprocess.run(
            [sys.executable, "-W", "error", str(script)],
            cwd=tmp_path,
            env={**os.environ, **variables, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_demo_shows_what_the_text_shows():
    demo = [sys.executable, "-m", "agentloop", "run", "What is the weather in Tokyo, in Fahrenheit?"]
    ran = subprocess.run([*demo, "--mock", "--demo-tools"], capture_output=True, text=True, check=True, cwd=ROOT)
    [shown] = [text for language, text in BLOCKS if language == "text" and "step 1" in text]
    assert [line for line in shown.splitlines() if line not in ran.stderr.splitlines()] == ran.stdout.splitlines()


def test_the_policy_decides_as_it_says():
    [text] = [code for language, code in BLOCKS if language == "toml"]
    policy = TomlPolicy.from_dict(tomllib.loads(text))
    calls = [("write_file", '{"path":"/etc/hosts"}', "write"), ("write_file", "{}", "write"), ("list", "{}", "read")]
    said = [str(policy.explain(ToolRequest("c", name, raw, risk=risk))) for name, raw, risk in calls]
    assert [text.partition(":")[0] for text in said] == ["deny (system files are not for you)", "ask", "allow"]


def test_the_first_script_has_twelve_lines():
    assert len([line for line in SCRIPTS[0].splitlines() if line.strip()]) <= 12


def test_every_make_target_that_it_names_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_status_is_explained():
    assert set(get_args(Status)) <= set(re.findall(r"`([a-z_]+)`", README))


def test_every_provider_is_listed_with_its_evidence():
    words = {"recorded": "exercised", "documented": "from their documents", "reported": "reported"}
    table = [line for line in README.splitlines() if line.startswith("| `")]
    for row in PRESETS.values():
        [line] = [line for line in table if f"`{row.name}`" in line]
        assert words[row.evidence] in line, row.name
