"""Argument strings: what the tool gets, what the model is told, what goes back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.arguments import arguments_to_send, read_arguments


@pytest.mark.parametrize("raw", ["{}", '{"a":1}', ' {"a": [1, 2]}\n', '{"code":"if(x){a}{b}"}', '{"a":"é\\ud800"}'])
def test_a_valid_object_goes_back_byte_for_byte(raw: str) -> None:
    assert read_arguments(raw).value == json.loads(raw)
    assert read_arguments(raw).repair is None
    assert arguments_to_send(raw) == raw


@pytest.mark.parametrize("raw", ["", "  \n", "null", " null "])
def test_no_arguments_are_an_empty_object_and_no_repair(raw: str) -> None:
    assert read_arguments(raw).value == {}
    assert read_arguments(raw).repair is None
    assert arguments_to_send(raw) == "{}"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"text": "line1\nline2\tEND"}', {"text": "line1\nline2\tEND"}),
        ('{"k":"A"}{"k":"A"}', {"k": "A"}),
        ('{"k":"A"} {"k": "A"}', {"k": "A"}),
        ('{"k":"A"}}', {"k": "A"}),
        ('"{\\"x\\":1}"', {"x": 1}),
        ('{"größe":"é"}}', {"größe": "é"}),
    ],
    ids=["control characters", "doubled", "doubled, spaced", "one brace too many", "wrapped", "not ASCII"],
)
def test_what_can_be_mended_is_mended_and_told(raw: str, value: object) -> None:
    read = read_arguments(raw)
    assert read.value == value
    assert read.repair is not None
    assert read.repair.before == raw
    assert json.loads(arguments_to_send(raw)) == value
    assert arguments_to_send(raw) == read.repair.after


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('{"k":"A"}{"k":"B"}', "glued together"),
        ('{"k":"A"}{"k":', "glued together"),
        ('{"a":1}{"a":true}', "glued together"),
        ('{"k":"A', "cut off"),
        ('{"k":', "cut off"),
        ('{"k":1', "cut off"),
        ('{"k":1} done', "text after the end"),
        ("call me", "not valid JSON"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('"abc"', "must be a JSON object, not a string"),
        ("[]", "must be a JSON object, not an array"),
        ("[1,2]", "must be a JSON object, not an array"),
        ("123", "must be a JSON object, not a number"),
        ("true", "must be a JSON object, not a boolean"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "not valid JSON"),
        ('{"k":1e999}}', "text after the end"),
    ],
    ids=lambda value: value[:20],
)
def test_anything_else_is_an_error_that_names_the_fault_and_goes_back_marked(raw: str, words: str) -> None:
    read = read_arguments(raw)
    assert read.value is None
    assert read.error is not None
    assert words in read.error
    assert json.loads(arguments_to_send(raw)) == {"INVALID_JSON": raw}


@given(st.text() | st.text(alphabet='{}[]",:\\ \n\ta1'))
def test_any_string_gives_a_value_or_an_error_and_goes_back_as_an_object(raw: str) -> None:
    read = read_arguments(raw)
    assert (read.value is None) == (read.error is not None)
    assert isinstance(json.loads(arguments_to_send(raw)), dict)


@given(st.text(alphabet='{}[]",:\\ \n\ta1'))
def test_what_is_sent_is_sent_unchanged_the_next_time(raw: str) -> None:
    assert arguments_to_send(arguments_to_send(raw)) == arguments_to_send(raw)
