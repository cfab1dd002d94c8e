"""Faults in writing, and which of them meets which request."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.testing import Fault, FaultPlan, faults, parse_fault
from agentloop.testing.faults import Kind


@pytest.mark.parametrize(
    ("spec", "listed"),
    [
        ("ok", [Fault()]),
        ("status=429", [Fault("status", status=429)]),
        (
            "status=429,retry-after=1;then=ok",
            [Fault("status", status=429, headers={"retry-after": "1"}), Fault(times=None)],
        ),
        (
            "status=503,retry-after-ms=5,x-should-retry=false,header:X-Id=7",
            [Fault("status", status=503, headers={"retry-after-ms": "5", "x-should-retry": "false", "X-Id": "7"})],
        ),
        (
            'status=429,retry-after="Wed, 21 Oct 2026 07:28:05 GMT"',
            [Fault("status", status=429, headers={"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT"})],
        ),
        ('status=200,body="{\\"choices\\": null}"', [Fault("status", status=200, body='{"choices": null}')]),
        ('status=200,body="\\n\\n"', [Fault("status", status=200, body="\n\n")]),
        ("status=402,message=Pay; ok", [Fault("status", status=402, message="Pay"), Fault()]),
        ("error=overloaded,after=3,code=503", [Fault("error", 3, message="overloaded", code=503)]),
        ("error,code=quota", [Fault("error", 1, code="quota")]),
        ("stall", [Fault("stall")]),
        ("stall=first-byte,seconds=60", [Fault("stall", seconds=60.0)]),
        ("stall=chunks,after=4,seconds=.5", [Fault("stall", 4, 0.5, "chunks")]),
        ("drip", [Fault("drip", 1, 0.01)]),
        ("drip=40,seconds=0", [Fault("drip", 40, 0.0)]),
        ("cut-after=3", [Fault("cut-after", 3)]),
        ("cut-inside,times=2", [Fault("cut-inside", 2, times=2)]),
        ("wrong-length=-7", [Fault("wrong-length", -7)]),
        ("then=status=503,chance=0.05", [Fault("status", status=503, times=None, chance=0.05)]),
        (" reset ; gzip ;", [Fault("reset"), Fault("gzip")]),
    ],
)
def test_a_spec_is_read(spec: str, listed: list[Fault]) -> None:
    assert parse_fault(spec) == listed


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_can_be_written(kind: str) -> None:
    (fault,) = parse_fault("status=500" if kind == "status" else kind)
    assert fault.kind == kind


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("", "an empty fault"),
        (" ; ", "an empty fault"),
        ("explode", "unknown fault 'explode'; use one of ok, status"),
        ("429", "unknown fault '429'"),
        ("status", "needs a code"),
        ("status=often", "'often' is not a number"),
        ("status=99", "a number from 200 to 599"),
        ("status=429,retry=1", "has no option 'retry'; it takes message"),
        ("status=429,retry-after", "option 'retry-after' needs a value"),
        ("reset=1", "reset takes no value"),
        ("gzip,seconds=1", "gzip has no option 'seconds'"),
        ("stall=lunch", "use one of first-byte, content, chunks"),
        ("stall,seconds=-1", "must be a number that is not negative"),
        ("stall,seconds=nan", "must be a number that is not negative"),
        (",", "unknown fault ''"),
        ("cut-after=-1", "must not be negative"),
        ("ok,times=0", "times is at least 1"),
        ("ok,chance=2", "chance is from 0 to 1"),
        ('ok,header:x="a\\nb"', "HTTP does not allow"),
        ("ok,header:x y=1", "HTTP does not allow"),
        ("ok,header:content-length=5", "there is the fault wrong-length"),
        ('html,body="x', "a quote is not closed"),
        ('html,body="\\x"', "not a JSON string"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        parse_fault(spec)


def test_an_unknown_kind_is_refused_in_code_too() -> None:
    kind: Any = "explode"
    with pytest.raises(ConfigError, match="unknown fault 'explode'"):
        Fault(kind)


@settings(deadline=None)
@given(st.text(alphabet='okstau=,;"\\42. -:', max_size=20))
def test_any_text_is_read_or_refused(spec: str) -> None:
    with suppress(ConfigError):
        assert parse_fault(spec)


def test_every_kind_is_described() -> None:
    assert faults.__doc__ is not None
    assert all(f"\n    {kind}" in faults.__doc__ for kind in get_args(Kind))


def test_faults_are_used_up_in_order_and_then_all_is_well() -> None:
    plan = FaultPlan[None](["reset", Fault("gzip", times=2)])
    assert [plan.next(None).kind for _ in range(4)] == ["reset", "gzip", "gzip", "ok"]


def test_then_holds_for_all_further_requests() -> None:
    plan = FaultPlan[None]("ok;then=reset")
    assert [plan.next(None).kind for _ in range(4)] == ["ok", "reset", "reset", "reset"]


def test_chance_is_decided_by_the_random_source_that_is_given() -> None:
    kinds = [FaultPlan[None]("then=reset,chance=0.5", rng=random.Random(7)) for _ in range(2)]
    first, second = ([plan.next(None).kind for _ in range(100)] for plan in kinds)
    assert first == second
    assert 30 < first.count("reset") < 70


def test_a_function_of_the_request_can_choose_the_fault() -> None:
    plan = FaultPlan[str](lambda request: Fault("reset") if request == "bad" else None)
    assert [plan.next(request).kind for request in ("good", "bad", "good")] == ["ok", "reset", "ok"]
