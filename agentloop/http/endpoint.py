"""What is fixed for a client: where it sends, as whom, in which dialect, and how patiently."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Literal, TypedDict

import httpx

from agentloop._version import __version__
from agentloop.errors import ConfigError
from agentloop.http.clock import Clock, SystemClock
from agentloop.http.proxies import is_loopback, names_a_server
from agentloop.http.retry import RetryPolicy
from agentloop.http.secrets import Secret, is_sensitive, read_key, redact_url
from agentloop.http.timeouts import Timeouts
from agentloop.wire.dialect import Wire
from agentloop.wire.quirks import PRESETS, Quirks, preset

__all__ = ["ClientSettings", "Endpoint", "accepted_encodings", "open_endpoint"]


class ClientSettings(TypedDict, total=False):
    """What `Client` and `AsyncClient` take besides base URL, model and transport.

    api_key          the key; never read from the environment for a base URL that is given by hand
    provider         a known provider's name, which gives its quirks; any other text is only shown
    quirks           how the server deviates, or the name of a known provider; by default told from the base URL
    wire             the dialect: "chat", "responses" or "anthropic", or an object of yours; by default the quirks' own
    tool_protocol    "native", or "text" for models without tool calls: tools are described in the instructions, and
                     calls are read from the text; by default the quirks' own
    extra_headers    sent with each request; they win over the client's own
    retry            None for a single try
    timeouts         by meaning, see `Timeouts`
    trust_env        whether proxy and certificate variables of the environment count
    max_connections  calls at a time, of all threads or tasks; more of them wait (`Timeouts.pool`)
    clock            the time, for tests
    """

    api_key: str | Secret | None
    provider: str | None
    quirks: Quirks | str | None
    wire: str | Wire | None
    tool_protocol: Literal["native", "text"] | None
    extra_headers: Mapping[str, str] | None
    retry: RetryPolicy | None
    timeouts: Timeouts
    trust_env: bool
    max_connections: int
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server with a model on it. Its repr shows no key."""

    provider: str
    model: str
    base_url: str  # as it may be shown
    missing_key: str | None = field(repr=False)  # what to say when a request would really go out
    url: httpx.URL = field(repr=False)
    wire: Wire = field(repr=False)
    headers: httpx.Headers = field(repr=False)
    secrets: tuple[Secret, ...] = field(repr=False)
    retry: RetryPolicy = field(repr=False)
    timeouts: Timeouts = field(repr=False)
    clock: Clock = field(repr=False)
    trust_env: bool = field(repr=False)
    max_connections: int = field(repr=False)

    def http_request(
        self, body: bytes, *, stream: bool, extra_headers: Mapping[str, str] | None, timeout: Mapping[str, float] | None
    ) -> httpx.Request:
        """The request as it goes to the transport."""
        headers = self.headers.copy()
        if stream:
            # A compressing proxy holds small pieces back until it has enough of them.
            headers["Accept-Encoding"] = "identity"
            headers["Accept"] = "text/event-stream"
        headers["Content-Length"] = str(len(body))
        for name, value in (extra_headers or {}).items():
            headers[name] = check_header(name, value)
        request = httpx.Request(
            "POST",
            self.url,
            headers=headers,
            stream=httpx.ByteStream(body),
            extensions={"timeout": timeout} if timeout else None,
        )
        request.read()
        return request


# The originals refuse reasoning from elsewhere, which is not signed or encrypted by them; so may who speaks for them.
_UNKNOWN = {"anthropic": Quirks(auth="x-api-key", reasoning="never"), "responses": Quirks(reasoning="never")}


def open_endpoint(
    base_url: str,
    model: str,
    *,
    api_key: str | Secret | None = None,
    provider: str | None = None,
    quirks: Quirks | str | None = None,
    wire: str | Wire | None = None,
    tool_protocol: Literal["native", "text"] | None = None,
    extra_headers: Mapping[str, str] | None = None,
    retry: RetryPolicy | None = RetryPolicy(),  # noqa: B008 # frozen
    timeouts: Timeouts = Timeouts(),  # noqa: B008 # frozen
    trust_env: bool = True,
    max_connections: int = 100,
    clock: Clock = SystemClock(),  # noqa: B008 # has no state
    **unknown: object,
) -> Endpoint:
    """Check all that can be checked before a request is sent. Raises ConfigError."""
    if unknown:
        raise ConfigError(_no_setting(*unknown))
    url = _base(base_url)
    row = _quirks(url, provider, quirks, wire)
    name = provider or (row.name if row.name != "custom" else url.host)
    _check(model, max_connections, retry, timeouts)
    key = read_key(api_key)
    extra = {header: check_header(header, value) for header, value in (extra_headers or {}).items()}
    no_key = key is None and not any(is_sensitive(header) for header in extra)
    missing = _missing_key(url, row) if no_key else None
    if missing and api_key is not None:  # given and empty, as os.environ.get(name, "") has it
        raise ConfigError(missing)
    dialect = _open_wire(wire or row.wire, model, name, row) if isinstance(wire, str | None) else wire
    dialect = _with_protocol(dialect, tool_protocol or row.tool_protocol)
    bare = url.copy_with(username=None, password=None)
    return Endpoint(
        provider=name,
        model=model,
        base_url=redact_url(base_url),
        missing_key=missing,
        url=bare.copy_with(path=_joined(bare.path.rstrip("/"), dialect.path)),
        wire=dialect,
        headers=_headers(bare, _auth_headers(url, key, row), dialect.headers, extra),
        secrets=_secrets(url, key, extra),
        retry=RetryPolicy(attempts=1) if retry is None else retry,
        timeouts=timeouts,
        clock=clock,
        trust_env=trust_env,
        max_connections=max_connections,
    )


def _check(model: str, max_connections: int, retry: object, timeouts: object) -> None:
    if not model:
        raise ConfigError("model is empty: give the name of a model that the server knows")
    if max_connections < 1:
        raise ConfigError(f"max_connections={max_connections}: at least 1")
    # Other libraries take numbers for these two; here they would fail at the first error, far from the mistake.
    if not isinstance(retry, RetryPolicy | None):
        raise ConfigError(f"retry={retry!r}: write retry=RetryPolicy(attempts=3), or None for a single try")
    if not isinstance(timeouts, Timeouts):
        raise ConfigError(f"timeouts={timeouts!r}: write for example timeouts=Timeouts(total=60, idle=30)")


def _no_setting(name: str, *_: str) -> str:
    known = ClientSettings.__annotations__
    near = get_close_matches(name, known, n=1)
    return f"a client has no setting {name}; " + (f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}")


def check_header(name: str, value: str) -> str:
    """The value, if it may go into a header. Raises ConfigError, which does not show it."""
    if not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII):
        raise ConfigError(f"header {name!r}: a header's name has letters, digits and hyphens")
    stripped = value.strip()
    if not stripped.isascii() or not stripped.isprintable():
        raise ConfigError(f"header {name!r}: its value holds a character that is not printable ASCII")
    return stripped


def _base(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
    except (httpx.InvalidURL, TypeError):
        url = None
    if url is None or url.scheme not in ("http", "https") or not names_a_server(url):
        raise ConfigError(
            f"base_url {redact_url(base_url)!r} is not usable: write for example http://localhost:8080/v1"
        )
    return url.copy_with(fragment=None) if url.fragment else url


def _joined(base: str, path: str) -> str:
    """Some name a server with its version, some without: it must not stand there twice."""
    return base.removesuffix("/v1") + path if path.startswith("/v1/") else base + path


def _quirks(url: httpx.URL, provider: str | None, quirks: Quirks | str | None, wire: str | Wire | None) -> Quirks:
    if quirks is not None:
        return preset(quirks) if isinstance(quirks, str) else quirks
    if provider in PRESETS:
        return PRESETS[provider]
    hosted = [row for row in PRESETS.values() if row.base_url and httpx.URL(row.base_url).host == url.host]
    if url.host == "localhost" or not hosted:
        return _UNKNOWN.get(_family(wire), Quirks())
    return next((row for row in hosted if row.wire == _family(wire)), hosted[0])


def _family(wire: str | Wire | None) -> str:
    """The wire that a dialect belongs to: `anthropic-tokens` is a part of `anthropic`."""
    return ((wire if isinstance(wire, str | None) else wire.name) or "").partition("-")[0]


def _missing_key(url: httpx.URL, row: Quirks) -> str | None:
    if row.key_env and row.base_url and not is_loopback(httpx.URL(row.base_url).host) and not is_loopback(url.host):
        return f"no key for {row.name}: pass api_key=, or set {row.key_env} and use from_env({row.name!r})"
    return None


def _open_wire(name: str, model: str, provider: str, row: Quirks) -> Wire:
    match name:
        case "chat":
            from agentloop.wire.chat import ChatWire as Dialect
        case "responses":
            from agentloop.wire.responses import ResponsesWire as Dialect
        case "anthropic":
            from agentloop.wire.anthropic import AnthropicWire as Dialect
        case "anthropic-tokens":
            from agentloop.wire.anthropic import AnthropicTokensWire as Dialect
        case _:
            raise ConfigError(f"unknown wire {name!r}: there are 'chat', 'responses' and 'anthropic'")
    return Dialect(model, provider, row)


def _with_protocol(wire: Wire, protocol: str) -> Wire:
    if protocol == "native":
        return wire
    if protocol != "text":
        raise ConfigError(f'tool_protocol is "native" or "text", not {protocol!r}')
    from agentloop.wire.text_tools import TextToolsWire

    return TextToolsWire(wire)


# --- headers ---------------------------------------------------------------------------------------------------------


def _auth_headers(url: httpx.URL, key: Secret | None, row: Quirks) -> dict[str, str]:
    if key is not None:
        return {"Authorization": f"Bearer {key.reveal()}"} if row.auth == "bearer" else {row.auth: key.reveal()}
    if url.userinfo:
        pair = f"{url.username}:{url.password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}


def _headers(url: httpx.URL, *more: Mapping[str, str]) -> httpx.Headers:
    headers = httpx.Headers(
        {
            "Host": url.netloc.decode(),
            "User-Agent": f"agentloop/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": accepted_encodings(),
            "Content-Type": "application/json",
        }
    )
    for mapping in more:
        headers.update(mapping)
    return headers


def accepted_encodings() -> str:
    """What httpx can undo with the packages that are installed."""
    brotli = ", br" if find_spec("brotli") or find_spec("brotlicffi") else ""
    zstd = ", zstd" if find_spec("zstandard") else ""
    return f"gzip, deflate{brotli}{zstd}"


def _secrets(url: httpx.URL, key: Secret | None, headers: Mapping[str, str]) -> tuple[Secret, ...]:
    """All that must not be seen: the key, and what is named like one in the URL and the headers."""
    found = [key.reveal()] if key else []
    found += [value for name, value in url.params.multi_items() if is_sensitive(name)]
    if url.userinfo:
        found += [f"{url.username}:{url.password}", url.username, url.password]
    found += sensitive_values(headers)
    return tuple(Secret(value) for value in dict.fromkeys(found) if value)


def sensitive_values(headers: Mapping[str, str]) -> list[str]:
    """Values of headers that are named like keys, whole and without their scheme word."""
    named = [value for name, value in headers.items() if is_sensitive(name)]
    return named + [value.rpartition(" ")[2] for value in named]
