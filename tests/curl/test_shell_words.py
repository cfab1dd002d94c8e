"""Pasted commands are read as bash reads them."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.cli.shell_words import Variable, filled, plain, read_commands
from agentloop.errors import ConfigError


def words(text: str) -> list[str]:
    (command,) = read_commands(text)
    return [plain(word) for word in command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("a \\\n  b", ["a", "b"]),
        ("a \\\r\n  b", ["a", "b"]),
        ("a'b c'\"d e\"", ["ab cd e"]),
        ("'$A `x` \\n'", ["$A `x` \\n"]),
        (r'"\"\\\$\`\n"', ['"\\$`\\n']),
        ('"a\\\nb"', ["ab"]),
        ("''", [""]),
        (r"\'\ \$", ["' $"]),
        (r"$'it\'s\n\t\u00e9\x41\101\\'", ["it's\n\té" + "AA\\"]),
        (r"$'\ud83d\ude42 \xc3\xa9 \303\251 \U0001f642 \ud800'", ["🙂 é é 🙂 \ufffd"]),
        (r"$'\\ud83d'", ["\\ud83d"]),
        ("a # a comment's", ["a"]),
        ("a#b", ["a#b"]),
        ("a '1\n2'", ["a", "1\n2"]),
        ("cost 5$", ["cost", "5$"]),
        ('"5 $ or 6"', ["5 $ or 6"]),
    ],
)
def test_words(text: str, expected: list[str]):
    assert words(text) == expected


def test_variables_stay_variables():
    (command,) = read_commands("\"Bearer $KEY\" ${A}b '$C' \\$D")
    assert command.words == [("Bearer ", Variable("KEY")), (Variable("A"), "b"), ("$C",), ("$D",)]


def test_a_word_is_filled_from_the_environment():
    assert filled(("Bearer ", Variable("KEY")), {"KEY": "abc"}) == "Bearer abc"


@pytest.mark.parametrize("environment", [{}, {"KEY": ""}])
def test_a_variable_that_is_not_set_is_named(environment: dict[str, str]):
    with pytest.raises(ConfigError, match=r"\$KEY"):
        filled(("Bearer ", Variable("KEY")), environment)


def test_a_here_document_with_a_quoted_end_is_literal():
    (command,) = read_commands("cat <<'END' -x\n$A \\n\nEND\n")
    assert command.words == [("cat",), ("-x",)]
    assert command.document == ("$A \\n\n",)


def test_a_here_document_with_a_bare_end_has_variables():
    (command,) = read_commands('cat <<END\n"$A" \\$B\nEND')
    assert command.document == ('"', Variable("A"), '" $B\n')


def test_commands_are_told_apart_by_what_joins_them():
    assert [(plain(c.words[0]), c.joint) for c in read_commands("a | b && c\nd")] == [
        ("a", "|"),
        ("b", "&&"),
        ("c", ";"),
        ("d", ""),
    ]


@pytest.mark.parametrize(
    "text",
    ["a $(id)", "a `id`", 'a "$(id)"', 'a "`id`"', "a ${B:-c}", "a > b", "a < b", "a <<< b", "a 'b", 'a "b', "(a)"],
)
def test_what_needs_a_shell_or_has_no_end_is_refused(text: str):
    with pytest.raises(ConfigError, match="near character"):
        read_commands(text)


def test_a_here_document_without_its_end_is_refused():
    with pytest.raises(ConfigError, match="'END' is missing"):
        read_commands("cat <<END\nabc\n")


def test_a_line_for_cmd_is_told_from_one_for_bash():
    with pytest.raises(ConfigError, match="copy it as curl for bash"):
        read_commands('curl "http://x" ^\n  -k')


@given(st.lists(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=20), min_size=1))
def test_what_shlex_quotes_is_read_back(texts: list[str]):
    assert words(shlex.join(texts)) == texts


@given(st.lists(st.text("ab '\"\\\n$é!#", max_size=8), min_size=1, max_size=4), st.sampled_from(['"', "$'"]))
@settings(max_examples=40)
def test_bash_reads_the_same_words(paste, texts: list[str], quote: str):
    line = " ".join(
        quote + text.replace("\\", "\\\\").replace(quote[-1], "\\" + quote[-1]) + quote[-1] for text in texts
    )
    line = line.replace("$", "\\$") if quote == '"' else line
    shown = paste(f"printf '%s\\0' {line}")
    assert [plain(word) for word in read_commands(line)[0].words] == shown.split("\0")[:-1], json.dumps(line)
