"""The pytest plugin: a cassette per test.

    def test_weather(cassette):
        client = Client(..., transport=cassette.transport)

The file is `cassettes/<module>/<test>.json` beside the test module; `@pytest.mark.cassette("x.json")` names another,
relative to the module, and takes `ignore=` and `secrets=` as ReplayTransport does. `pytest --agentloop-record=once` (or
`new`, `all`) records from the real servers; without it the cassette is played, and the network is blocked for the test.
A passing test must have used its whole cassette; a failing test writes nothing. Tests without the fixture or the marker
are left alone, and nothing is imported for them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from agentloop.testing.deck import Deck, Mode

__all__ = ["cassette"]

_DECK = pytest.StashKey["Deck"]()
_WRITERS = pytest.StashKey[dict[Path, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("agentloop").addoption(
        "--agentloop-record",
        choices=("none", "once", "new", "all"),
        default="none",
        help="cassettes: none plays them (default), once records missing ones, new adds what is not on them yet, "
        "all records them anew",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "cassette(path=None, *, ignore=(), secrets=()): play or record the requests of this test; its fixture "
        "`cassette` has the transport",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The marker alone blocks the network too: it asks for the fixture."""
    if (
        isinstance(item, pytest.Function)
        and item.get_closest_marker("cassette")
        and "cassette" not in item.fixturenames
    ):
        item.fixturenames.append("cassette")


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Iterator[Deck]:
    """The cassette of this test: give its `transport` to a client, or use `with cassette.attached(client):`."""
    from agentloop.testing.network import network_blocked

    node: pytest.Item = request.node
    _refuse_unittest(node)
    deck = _open(node)
    node.stash[_DECK] = deck
    if deck.recording:
        yield deck
        return
    with network_blocked(f"This test plays {deck.path}. {_hint(node, 'new')}"):
        yield deck


def _refuse_unittest(node: pytest.Item) -> None:
    """pytest runs these tests by another way, on which a cassette would be neither checked nor written."""
    from unittest import TestCase

    if isinstance(node, pytest.Function) and node.cls is not None and issubclass(node.cls, TestCase):
        raise pytest.UsageError(
            f"{node.nodeid}: cassettes do not work in unittest.TestCase; use agentloop.testing.record"
        )


def _open(node: pytest.Item) -> Deck:
    from agentloop.errors import ConfigError
    from agentloop.testing.deck import Deck

    marker = node.get_closest_marker("cassette")
    given, options = (marker.args, dict(marker.kwargs)) if marker else ((), dict[str, Any]())
    name = options.pop("path", given[0] if given else None)
    if len(given) > 1 or options.keys() - {"ignore", "secrets"}:
        raise pytest.UsageError(f"{node.nodeid}: write @pytest.mark.cassette('x.json', ignore=(...), secrets=(...))")
    mode = cast("Mode", node.config.getoption("--agentloop-record"))
    path = node.path.parent / (name or Path("cassettes", node.path.stem, _file_name(node.nodeid)))
    try:
        return Deck(path, mode, **options)
    except ConfigError as error:
        reason = f"{error}\n{_hint(node, 'once')}"
    pytest.fail(reason, pytrace=False)  # out here, or pytest would show the first error too


def _file_name(node_id: str) -> str:
    """A file name from the part of the id that follows the module. What had to be replaced or cut lives on in a
    checksum, so that two tests do not share a file by accident."""
    name = node_id.partition("::")[2].replace("::", ".")
    plain = re.sub(r"[^\w.-]+", "-", name.replace("[", "-").removesuffix("]"))
    exact = plain == name.replace("[", "-").removesuffix("]") and len(plain) < 120
    return f"{plain}.json" if exact else f"{plain[:120]}-{crc32(name.encode()):08x}.json"


def _hint(node: pytest.Item, mode: str) -> str:
    return f"To record it: pytest --agentloop-record={mode} '{node.nodeid}'"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Finish the cassette while a failure still counts as the test's own, and not as one of its teardown."""
    if _DECK not in pyfuncitem.stash:
        return (yield)
    from agentloop.testing.matching import CassetteMismatch
    from agentloop.testing.network import NetworkBlocked

    deck = pyfuncitem.stash[_DECK]
    try:
        result = yield
        _refuse_second_writer(pyfuncitem, deck)
        deck.finish()
    except (CassetteMismatch, NetworkBlocked) as error:
        if isinstance(error, CassetteMismatch):
            error.add_note(_hint(pyfuncitem, "all"))
        raise error.with_traceback(_cut_at(error.__traceback__, str(pyfuncitem.path))) from None
    if deck.player is not None and deck.player.mismatch is not None:
        pytest.fail(f"a mismatch was raised, and something caught it:\n{deck.player.mismatch}", pytrace=False)
    return result


def _refuse_second_writer(node: pytest.Item, deck: Deck) -> None:
    if deck.recording:
        writer = node.config.stash.setdefault(_WRITERS, {}).setdefault(deck.path, node.nodeid)
        if writer != node.nodeid:
            text = f"{deck.path} was recorded by {writer} in this run: give each test a cassette of its own"
            pytest.fail(text, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Say so when a failing test was to write a cassette, and did not."""
    deck = item.stash.get(_DECK, None)
    if deck is not None and deck.recording and call.when == "call" and call.excinfo is not None:
        item.add_report_section("call", "cassette", f"{deck.path} was not written, since the test did not pass")
    return (yield)


def _cut_at(traceback: TracebackType | None, path: str) -> TracebackType | None:
    """The traceback without the frames below the test's own file: those of clients and transports tell nothing."""
    frames: list[TracebackType] = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    last = max((n for n, frame in enumerate(frames) if frame.tb_frame.f_code.co_filename == path), default=len(frames))
    cut: TracebackType | None = None
    for frame in reversed(frames[: last + 1]):
        cut = TracebackType(cut, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return cut
