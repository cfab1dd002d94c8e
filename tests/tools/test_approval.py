"""What an approval is bound to."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.tools.approval import approval_digest, canonical_arguments

CALL = ("r1", "c1", "pay", '{"to":"Ann","amount":3}')


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ('{"b": 1, "a": {"d": 2, "c": 3}}', '{"a":{"c":3,"d":2},"b":1}'),
        ("", "{}"),
        ('{"k": "\\u00e9"}', '{"k":"é"}'),
        ('{"k":"line\\nend"}', '{"k":"line\\nend"}'),
        ('{"n":1.0}', '{"n":1.0}'),
        ('{"a":1}}', '{"a":1}'),
        ("[1]", '"[1]"'),
        ("{", '"{"'),
    ],
)
def test_arguments_have_one_canonical_form(raw: str, canonical: str) -> None:
    assert canonical_arguments(raw) == canonical


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans())))
def test_the_spelling_of_the_same_arguments_does_not_matter(arguments: dict[str, object]) -> None:
    turned = dict(reversed(arguments.items()))
    assert canonical_arguments(json.dumps(turned, indent=1)) == canonical_arguments(
        json.dumps(arguments, ensure_ascii=True)
    )


def test_the_digest_is_the_same_in_every_process() -> None:
    assert approval_digest(*CALL) == "sha256:50b41d415aa63b432ceb5cc3d8f74b2ea82575fdd043ea5dac1ea1f121b13600"


@pytest.mark.parametrize("key", [None, b"k"])
@pytest.mark.parametrize("place", range(4))
def test_any_change_of_the_call_changes_the_digest(place: int, key: bytes | None) -> None:
    changed = list(CALL)
    changed[place] = '{"to":"Ann","amount":4}' if place == 3 else CALL[place] + "x"
    assert approval_digest(*changed, key=key) != approval_digest(*CALL, key=key)


def test_the_fields_of_a_call_cannot_flow_into_each_other() -> None:
    assert approval_digest("a", "bc", "d", "{}") != approval_digest("ab", "c", "d", "{}")


def test_a_key_makes_another_digest_that_tells_it_is_signed() -> None:
    signed = approval_digest(*CALL, key=b"k")
    assert signed.startswith("hmac-sha256:")
    assert signed != approval_digest(*CALL, key=b"other")
