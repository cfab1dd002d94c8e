"""Starts the mock provider and sends the vendors' own packages at it: `make check-mock`.

They live in an environment of their own, which this gets as its argument: nothing of the project needs them.
"""

import subprocess
import sys
from pathlib import Path

from agentloop.mock import MockProvider, Question, Reply
from agentloop.mock.weather import weather

KEY = "sk-mock-peers"


def scenario(question: Question) -> Reply:
    """The weather rules, and a reply that thinks aloud where the prompt asks for it."""
    if question.prompt.startswith("Think"):
        return Reply("Done.", reasoning="First this, then that.")
    return weather(question)


def main(python: str) -> int:
    with MockProvider(scenario, require_key=KEY) as mock:
        command = [python, str(Path(__file__).with_name("peers.py")), mock.base_url, KEY, mock.model]
        return subprocess.run(command, check=False, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
