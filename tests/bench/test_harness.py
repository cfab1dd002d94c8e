"""The benchmark measures what it says. Nothing here is timed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.bench.peers import PEER_SUBJECTS, PEERS, Peer
from tests.bench.processes import import_costs
from tests.bench.rounds import Ratio, Worker, compare, interleave, serving
from tests.bench.server import call, event_texts
from tests.bench.subjects import SUBJECTS
from tests.bench.table import ROWS, markdown, missed


@pytest.fixture(scope="module")
def base():
    with serving() as url:
        yield url


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_subject_does_its_work(base: str, name: str):
    with SUBJECTS[name](base) as work:
        work(2)


def test_a_worker_answers_with_the_cpu_of_its_units(base: str):
    with Worker("respond", base) as worker:
        assert worker.cpu(3) > 0


def test_a_worker_that_cannot_begin_tells_why(base: str):
    with pytest.raises(RuntimeError, match="KeyError"), Worker("no such subject", base):
        pass


def test_each_worker_is_measured_in_each_round(base: str):
    with Worker("httpx", base) as plain, Worker("json.loads", base) as loads:
        taken = interleave([plain, loads], 2)
    assert {name: len(values) for name, values in taken.items()} == {"httpx": 2, "json.loads": 2}


def test_ratios_are_of_the_same_round():
    assert compare([2.0, 40.0, 6.0], [1.0, 20.0, 3.0]) == Ratio(2.0, 2.0, 2.0)


def test_the_spread_is_the_middle_half():
    assert Ratio.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Ratio(3.0, 2.0, 4.0)


def test_the_table_has_the_rows_that_were_measured():
    costs = {"respond": [3e-4, 3e-4], "httpx": [2e-4, 2e-4], "openai respond": [8e-4, 8e-4]}
    row = markdown(costs, ["openai"]).splitlines()[-1]
    assert row == (
        "| `Client.respond`, a small reply, to httpx and json | ≤ 1.15 | **1.50** (1.50–1.50) | 4 | 300 µs | 200 µs |"
    )


def test_a_row_above_its_target_is_told():
    costs = {"respond": [3.0, 3.0], "httpx": [2.0, 2.0], "agent": [2.2, 2.2]}
    assert missed(costs) == ["`Client.respond`, a small reply, to httpx and json"]


def test_the_subjects_of_the_rows_exist():
    theirs = {name for row in ROWS for name in row.peers.values() if not name.startswith(("import", "idle"))}
    assert theirs <= PEER_SUBJECTS.keys()


def test_peers_are_pinned():
    assert all("==" in peer.pin for peer in PEERS)
    assert Peer("a", "a==1", "a.b", "C").statement == "from a.b import C"


def test_events_are_json_and_calls_have_ids_of_their_own():
    assert [json.loads(text)["choices"][0]["delta"]["content"] for text in event_texts(2)] == [" word0", " word1"]
    first, second = (json.loads(call(n))["choices"][0]["message"]["tool_calls"][0]["id"] for n in (1, 2))
    assert first != second


def test_statements_are_timed_in_the_python_they_belong_to():
    costs = import_costs({"import json": "import json"}, 1, {"import json": Path(sys.executable)})
    assert [len(taken) for taken in costs.values()] == [1]
