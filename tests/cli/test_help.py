"""The help, and README's account of the command line, are true."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import click
import pytest

from agentloop.cli.program import program

README = (Path(__file__).parent.parent.parent / "README.md").read_text("utf-8")


def commands(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    """All commands of a group and its groups, by the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*names, name)
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)


COMMANDS = list(commands(program))


def parse(line: str) -> None:
    """Let the command that a line calls read its arguments. Raises click's errors; nothing is run."""
    group, words = program, shlex.split(re.split(r" [<|] ", line)[0])[1:]
    context = click.Context(group, info_name="agentloop")
    while isinstance(group, click.Group):
        command = group.get_command(context, words[0])
        assert command is not None, words[0]
        group, words = command, words[1:]
    if words != ["--help"]:
        group.make_context(group.name, words, parent=context)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_help_begins_with_what_it_does_and_an_example(agentloop, words: tuple[str, ...]):
    usage, about, example = agentloop(*words, "--help").stdout.split("\n\n")[:3]
    assert usage.startswith(f"Usage: agentloop {' '.join(words)} ")
    assert about.strip().endswith(".")
    assert example.strip().startswith("agentloop ")
    assert f"agentloop {' '.join(words)} " in example


@pytest.mark.parametrize("words", [(), *COMMANDS], ids=" ".join)
def test_the_examples_of_each_help_are_understood(agentloop, words: tuple[str, ...]):
    for line in re.findall(r"^ +(agentloop .+)$", agentloop(*words, "--help").stdout, re.MULTILINE):
        parse(line)


def test_no_line_of_the_list_of_commands_is_cut(agentloop):
    assert "..." not in agentloop("--help").stdout.partition("Commands:")[2]


def test_readme_lists_the_commands_that_there_are():
    listed = re.findall(r"^\| `agentloop ([a-z-]+)` \|", README, re.MULTILINE)
    assert sorted(listed) == sorted(program.list_commands(click.Context(program)))


def test_the_commands_of_readme_work_one_after_another(agentloop, tmp_path: Path):
    section = README.partition("## Command line\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^agentloop .*$", section, re.MULTILINE)
    assert lines
    with chdir(tmp_path):
        for line in lines:
            assert agentloop(*shlex.split(line)[1:]).exit_code == 0, line


def test_the_options_that_readme_names_exist(agentloop):
    section = README.partition("## Command line\n")[2].partition("\n## ")[0]
    known = "".join(agentloop(*words, "--help").stdout for words in COMMANDS)
    for option in set(re.findall(r"`(--[a-z-]+)", section)):
        assert re.search(rf"{option}\b", known), option
