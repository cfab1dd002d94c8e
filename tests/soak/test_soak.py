"""A small soak for every test run; `make soak` is the large one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from agentloop.mock import MockProvider
from tests.soak.load import FAULTS, WARM_UP, Plan, in_tasks, in_threads, nothing_left


@pytest.fixture
def plan() -> Plan:
    """Every fault twice, and as many runs without one."""
    plan = Plan(4 * len(FAULTS), seed=7, share=0.0)
    plan.faults = {plan.prompt(number): fault for number, fault in enumerate([*FAULTS, *FAULTS])}
    return plan


@pytest.fixture
def mock(plan: Plan) -> Iterator[MockProvider]:
    with MockProvider("echo", faults=plan.choose) as mock:
        yield mock


def test_runs_in_tasks_end_as_their_faults_prescribe_and_leave_nothing(plan: Plan, mock: MockProvider):
    asyncio.run(in_tasks(mock, WARM_UP))
    with nothing_left(mock) as left:
        assert asyncio.run(in_tasks(mock, plan)) == []
    assert left == []


def test_runs_in_threads_end_as_their_faults_prescribe_and_leave_nothing(plan: Plan, mock: MockProvider):
    in_threads(mock, WARM_UP, threads=3)
    with nothing_left(mock) as left:
        assert in_threads(mock, plan, threads=16) == []
    assert left == []
