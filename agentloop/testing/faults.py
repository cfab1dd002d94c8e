"""Faults: one description of what may go wrong between a client and a server, for the mock provider and for
FaultTransport.

A fault in writing:

    SPEC  = ENTRY [";" ENTRY]...       one entry per request, in order; after the last entry all is well
    ENTRY = ["then="] KIND ["=" VALUE] ["," OPTION "=" VALUE]...
    VALUE = text without , ; "         or a JSON string in double quotes

    status=429,retry-after=1;then=ok             refuse the first request
    stall=content,seconds=2;ok;cut-after=3       a pause, a good answer, then one that breaks off
    then=status=503,chance=0.05                  refuse one request in twenty, for ever

`then=` makes an entry hold for all further requests. N counts from 1; the chunks of a stream are its events, and a
whole reply counts as two chunks, its halves.

    ok                nothing
    status=CODE       answer with this status. message= code= type= are put into an error body; body= replaces it
    error=MESSAGE     an error object inside a 200, after=N chunks of a stream (default 1). code= type=
                      (a code in digits becomes a number)
    stall=WHERE       send nothing for seconds=S, then go on; without seconds: until the client has gone.
                      WHERE: first-byte (default), content (before the first content), chunks (after=N, default 2)
    drip=N            send N bytes at a time (default 1), seconds=S apart (default 0.01)
    keepalive=N       N blank lines before a whole reply, N comments before a stream (default 3), seconds=S apart
    cut-after=N       close the connection after N chunks (default 2)
    cut-inside=N      close the connection inside chunk N (default 2)
    end-after=N       end the body properly, but after N chunks (default 2)
    close             close the connection before the first byte
    reset             reset the connection before the first byte
    reset-after=N     reset the connection after N chunks (default 2)
    duplicate=N       send chunk N twice (default 2)
    bad-json=N        break off the JSON of chunk N, or of a whole reply (default 2)
    html=CODE         a web page with this status (default 200). body= replaces it
    wrong-length=N    announce N bytes too many, or with a minus too few (default 7)
    gzip              compress the body

Every entry takes times=N (it holds for N requests), chance=P (it strikes with that probability) and headers:
retry-after= retry-after-ms= x-should-retry= and header:NAME= for any other.
"""

from __future__ import annotations

import json
import math
import random
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from agentloop.errors import ConfigError

__all__ = ["Fault", "FaultPlan", "Faults", "Kind", "parse_fault"]

Kind: TypeAlias = Literal[
    "ok",
    "status",
    "error",
    "stall",
    "drip",
    "keepalive",
    "cut-after",
    "cut-inside",
    "end-after",
    "close",
    "reset",
    "reset-after",
    "duplicate",
    "bad-json",
    "html",
    "wrong-length",
    "gzip",
]
Where: TypeAlias = Literal["first-byte", "content", "chunks"]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request, or to the `times` requests that follow (None: to all).

    `n` is the number that belongs to the kind, as the description of the grammar has it: chunks, bytes, blank lines.
    `seconds` is a pause, None without end. `chance` is the probability that it strikes. `status` None means the kind's
    own. ConfigError for values that make no sense.
    """

    kind: Kind = "ok"
    n: int | None = None
    seconds: float | None = None
    where: Where = "first-byte"
    status: int | None = None
    message: str | None = None
    code: str | int | None = None
    type: str | None = None
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    times: int | None = 1
    chance: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ConfigError(f"unknown fault {self.kind!r}: use one of {', '.join(get_args(Kind))}")
        if self.kind == "status" and self.status is None:
            raise ConfigError("the fault status needs a code: status=429")
        if self.where not in get_args(Where):
            raise ConfigError(f"stall={self.where}: use one of {', '.join(get_args(Where))}")
        if self.status is not None and not 200 <= self.status <= 599:
            raise ConfigError(f"{self.kind}={self.status}: a status is a number from 200 to 599")
        for name, value in self.headers.items():
            _check_header(name, value)
        if self.n is None and self.kind in _NUMBER:
            object.__setattr__(self, "n", _NUMBER[self.kind])
        if self.n is not None and self.n < 0 and self.kind != "wrong-length":
            raise ConfigError(f"{self.kind}={self.n}: the number must not be negative")
        if self.seconds is None and self.kind == "drip":
            object.__setattr__(self, "seconds", 0.01)
        if not 0 <= (self.seconds or 0) < math.inf:
            raise ConfigError(f"{self.kind}: seconds={self.seconds} must be a number that is not negative")
        if not 0 <= self.chance <= 1 or (self.times is not None and self.times < 1):
            raise ConfigError(f"{self.kind}: chance is from 0 to 1, and times is at least 1")

    @property
    def replaces_answer(self) -> bool:
        """Whether the request gets no answer of the server's own: then nobody is asked for one, and a scripted reply
        waits for the next request."""
        return self.kind in ("status", "html", "close", "reset")


def _check_header(name: str, value: str) -> None:
    if not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII) or not re.fullmatch(r"[\t -~\x80-\xff]*", value):
        raise ConfigError(f"header {name!r}: HTTP does not allow this name, or a character of its value")
    if name.lower() in ("content-length", "transfer-encoding"):
        raise ConfigError(f"header {name!r} belongs to the server; for a false length there is the fault wrong-length")


_NUMBER: dict[str, int] = {
    "error": 1,
    "stall": 2,
    "drip": 1,
    "keepalive": 3,
    "cut-after": 2,
    "cut-inside": 2,
    "end-after": 2,
    "reset-after": 2,
    "duplicate": 2,
    "bad-json": 2,
    "wrong-length": 7,
}

# --- reading ---------------------------------------------------------------------------------------------------------

# kind -> (the field that its VALUE sets, the options that it takes)
_GRAMMAR: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "ok": (None, ()),
    "status": ("status", ("message", "code", "type", "body")),
    "error": ("message", ("after", "code", "type")),
    "stall": ("where", ("seconds", "after")),
    "drip": ("n", ("seconds",)),
    "keepalive": ("n", ("seconds",)),
    "close": (None, ()),
    "reset": (None, ()),
    "html": ("status", ("body",)),
    "gzip": (None, ()),
    **dict.fromkeys(("cut-after", "cut-inside", "end-after", "reset-after"), ("n", ())),
    **dict.fromkeys(("duplicate", "bad-json", "wrong-length"), ("n", ())),
}
_ALWAYS = ("times", "chance")
_HEADERS = ("retry-after", "retry-after-ms", "x-should-retry")
_FIELD_OF = {"after": "n"}
_READERS: dict[str, Callable[[str], Any]] = {
    "n": int,
    "status": int,
    "times": int,
    "seconds": float,
    "chance": float,
    "code": lambda text: int(text) if text.isdecimal() else text,
}
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ENTRY = re.compile(rf'(?:[^;"]|{_QUOTED})+')
_ITEM = re.compile(rf'(?:[^,"]|{_QUOTED})+')


def parse_fault(spec: str) -> list[Fault]:
    """The faults that a SPEC describes (see the module's description); ConfigError tells what is wrong in it."""
    if '"' in re.sub(_QUOTED, "", spec):
        raise ConfigError(f"{spec}: a quote is not closed")
    entries = [entry.strip() for entry in _ENTRY.findall(spec)]
    if not any(entries):
        raise ConfigError("an empty fault: write ok for a request without one")
    return [_entry(entry) for entry in entries if entry]


def _entry(entry: str) -> Fault:
    for_ever = entry.startswith("then=")
    items = [_split(item) for item in _ITEM.findall(entry.removeprefix("then="))]
    kind, value = items[0] if items else ("", None)
    if kind not in _GRAMMAR:
        raise ConfigError(f"{entry}: unknown fault {kind!r}; use one of {', '.join(_GRAMMAR)}")
    main, options = _GRAMMAR[kind]
    fields: dict[str, Any] = {"kind": kind, "times": None} if for_ever else {"kind": kind}
    headers: dict[str, str] = {}
    if value is not None:
        if main is None:
            raise ConfigError(f"{entry}: {kind} takes no value")
        fields[main] = _read(main, value, entry)
    for name, text in items[1:]:
        if text is None:
            raise ConfigError(f"{entry}: option {name!r} needs a value: {name}=...")
        if name.startswith("header:") or name in _HEADERS:
            headers[name.removeprefix("header:")] = text
        elif name in options or name in _ALWAYS:
            fields[_FIELD_OF.get(name, name)] = _read(_FIELD_OF.get(name, name), text, entry)
        else:
            known = ", ".join((*options, *_ALWAYS, *_HEADERS, "header:NAME"))
            raise ConfigError(f"{entry}: {kind} has no option {name!r}; it takes {known}")
    return Fault(**fields, headers=headers)


def _split(item: str) -> tuple[str, str | None]:
    name, equals, value = item.strip().partition("=")
    name, value = name.strip(), value.strip()
    if value.startswith('"'):
        try:
            value = str(json.loads(value))
        except ValueError as problem:
            raise ConfigError(f"{item.strip()}: not a JSON string: {problem}") from problem
    return name, value if equals else None


def _read(name: str, value: str, entry: str) -> Any:
    try:
        return _READERS.get(name, str)(value)
    except ValueError as problem:
        raise ConfigError(f"{entry}: {value!r} is not a number") from problem


# --- planning --------------------------------------------------------------------------------------------------------

R = TypeVar("R")
Faults: TypeAlias = "str | Iterable[Fault | str] | Callable[[R], Fault | None]"


class FaultPlan(Generic[R]):
    """Which fault meets which request. Usable from several threads.

    `faults` is a SPEC, a list of faults and SPECs, used up in the order in which requests arrive, or a function of the
    request, for tests in which many requests are under way. `rng` decides about faults with a `chance`.
    """

    def __init__(self, faults: Faults[R] = (), *, rng: random.Random | None = None) -> None:
        self._choose = faults if callable(faults) else None
        self._queue: list[Fault] = [] if callable(faults) else _listed(faults)
        self._rng = rng or random.Random(0)
        self._lock = threading.Lock()

    def next(self, request: R) -> Fault:
        """The fault for this request; Fault("ok") when there is none."""
        with self._lock:
            fault = self._choose(request) if self._choose else self._take()
            if fault is None or (fault.chance < 1 and self._rng.random() >= fault.chance):
                return Fault()
            return fault

    def _take(self) -> Fault | None:
        if not self._queue:
            return None
        fault = self._queue[0]
        if fault.times is not None:
            self._queue[:1] = [replace(fault, times=fault.times - 1)] if fault.times > 1 else []
        return fault


def _listed(faults: str | Iterable[Fault | str]) -> list[Fault]:
    given = [faults] if isinstance(faults, str) else faults
    return [fault for item in given for fault in (parse_fault(item) if isinstance(item, str) else [item])]
