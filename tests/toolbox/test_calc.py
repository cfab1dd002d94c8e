"""`calc` and `time.now`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone, tzinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ToolError
from agentloop.toolbox.calc import calc_tool, calculate
from agentloop.toolbox.clock import time_tool


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17 + 25", "42"),
        ("(18.0 * 9 / 5) + 32", "64.4"),
        ("0.1 + 0.2", "0.3"),
        ("-2**2", "-4"),
        ("2**200", "1606938044258990275541962092341162602522202993782792835301376"),
        ("7 // 2 + 7 % 2", "4"),
        ("sqrt(2) * sqrt(2)", "2"),
        ("round(pi, 2)", "3.14"),
        ("factorial(20) / comb(6, 3)", "1.21645100408832e+17"),
        ("max(1, 2.5, -3)", "2.5"),
        ("gcd(12, 18)", "6"),
        (" 1_000 ", "1000"),
        ("2**-1", "0.5"),
        ("2**-99999999999", "0"),
        ("2**4000 // 2**3998", "4"),
        ("(-1)**99999999999", "-1"),
    ],
)
def test_an_expression_is_worked_out(expression: str, value: str):
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("9**9**9", "more than"),
        ("2**99999999999", "more than"),
        ("-2**4097", "more than"),
        ("factorial(100000)", "from 0 to 400"),
        ("factorial(-1)", "from 0 to 400"),
        ("comb(10**9, 5*10**8)", "from 0 to 4096"),
        ("*".join(["9**1000"] * 9), "more than 4096 bits"),
        ("1/0", "division by zero"),
        ("1e308 * 10", "no real number"),
        ("(-1)**0.5", "no real number"),
        ("sqrt(-1)", "cannot be worked out"),
        ("10.0**400", "cannot be worked out"),
        ("2^3", "a power is written **"),
        ("1 +", "no arithmetic expression"),
        ("", "no arithmetic expression"),
        ("__import__('os').system('id')", "only numbers"),
        ("().__class__", "only numbers"),
        ("open('x')", "'open' is not known here"),
        ("x", "'x' is not known here"),
        ("[1 for _ in [1]]", "only numbers"),
        ("'a' * 10**9", "only numbers"),
        ("True + 1", "no numbers"),
        ("1 << 99999", "only numbers"),
        ("max(*[1, 2])", "only numbers"),
        ("round(1.5, ndigits=1)", "only numbers"),
        ("1" * 1001, "1001 characters"),
        ("(" * 400 + "1" + ")" * 400, "nested"),
        ("-" * 900 + "1", ""),
        ("lambda: 1", "only numbers"),
        ("1 if 1 else 2", "only numbers"),
    ],
)
def test_what_is_dangerous_or_endless_is_refused(expression: str, why: str):
    if why:
        with pytest.raises(ToolError) as refused:
            calculate(expression)
        assert why in str(refused.value)
    else:
        assert calculate(expression) == "1"


@given(st.text(alphabet="0123456789.+-*/%()e, sqrtfacoilmn", max_size=60))
def test_any_text_gives_a_number_or_a_refusal(expression: str):
    try:
        float(calculate(expression))
    except ToolError:
        pass
    except OverflowError:
        assert "e" not in calculate(expression)  # a whole number beyond the floats


def test_the_tool_is_harmless_and_says_so(calling: Callable[..., Any]):
    tool = calc_tool()
    assert (tool.name, tool.risk, tool.effects) == ("calc", "read", "none")
    assert calling([tool]).text("calc", expression="6*7") == "42"


# --- time ------------------------------------------------------------------------------------------------------------


def at_noon(zone: tzinfo | None) -> datetime:
    return datetime(2026, 11, 30, 12, 0, 5, tzinfo=timezone.utc).astimezone(zone)  # noqa: UP017


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("UTC", "2026-11-30T12:00:05+00:00 (Monday, week 49)"),
        ("Europe/Berlin", "2026-11-30T13:00:05+01:00 (Monday, week 49)"),
        ("Pacific/Auckland", "2026-12-01T01:00:05+13:00 (Tuesday, week 49)"),
    ],
)
def test_the_time_is_told_in_a_zone(calling: Callable[..., Any], zone: str, told: str):
    assert calling([time_tool(clock=at_noon)]).text("time.now", zone=zone) == told


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "", "a\0b", "Europe"])
def test_a_zone_that_is_none_is_refused(calling: Callable[..., Any], zone: str):
    assert "no time zone" in calling([time_tool()]).refusal("time.now", zone=zone)


def test_the_system_clock_is_the_default(calling: Callable[..., Any]):
    assert calling([time_tool()]).text("time.now", zone="local").startswith("20")
