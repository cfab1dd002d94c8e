"""What tests of agents and clients need: scripted models, faults, recorded exchanges. All loads when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.testing.cassettes import Cassette as Cassette
    from agentloop.testing.clock import FakeClock as FakeClock
    from agentloop.testing.deck import Deck as Deck
    from agentloop.testing.fault_transport import FaultTransport as FaultTransport
    from agentloop.testing.faults import Fault as Fault
    from agentloop.testing.faults import FaultPlan as FaultPlan
    from agentloop.testing.faults import parse_fault as parse_fault
    from agentloop.testing.importers import import_curl as import_curl
    from agentloop.testing.importers import import_har as import_har
    from agentloop.testing.importers import import_vcr as import_vcr
    from agentloop.testing.leaks import Leak as Leak
    from agentloop.testing.leaks import check as check
    from agentloop.testing.matching import CassetteMismatch as CassetteMismatch
    from agentloop.testing.recording import RecordTransport as RecordTransport
    from agentloop.testing.recording import record as record
    from agentloop.testing.replaying import ReplayTransport as ReplayTransport
    from agentloop.testing.scripted import ScriptedModel as ScriptedModel
    from agentloop.testing.serving import serve as serve

_HOMES = {
    "Cassette": "cassettes",
    "CassetteMismatch": "matching",
    "Deck": "deck",
    "FakeClock": "clock",
    "Fault": "faults",
    "FaultPlan": "faults",
    "FaultTransport": "fault_transport",
    "Leak": "leaks",
    "RecordTransport": "recording",
    "ReplayTransport": "replaying",
    "ScriptedModel": "scripted",
    "check": "leaks",
    "import_curl": "importers",
    "import_har": "importers",
    "import_vcr": "importers",
    "parse_fault": "faults",
    "record": "recording",
    "serve": "serving",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
