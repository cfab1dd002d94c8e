"""Cassettes from what other tools recorded: HAR files, vcrpy cassettes, and `curl -D headers -o body`.

Their bodies carry no chunk borders, so a stream is cut after each event, without times. What is imported is scrubbed as
if it had been recorded here, and nothing is written: call `save()` of the cassette.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.shapes import as_dict, as_int, as_list
from agentloop.testing.bodies import Chunk, dump_json
from agentloop.testing.cassettes import Cassette
from agentloop.testing.decoding import decode_body
from agentloop.testing.exchanges import Exchange, Failure, RecordedRequest, RecordedResponse
from agentloop.testing.scrubbing import scrub

__all__ = ["import_curl", "import_har", "import_vcr"]


def import_har(path: str | os.PathLike[str], *, secrets: Iterable[str] = ()) -> Cassette:
    """All entries of a HAR file, as browsers and mitmproxy write them. An entry without an answer is a ConnectError."""
    try:
        data = json.loads(Path(path).read_bytes())
        entries = data["log"]["entries"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: is not a HAR file: {error!r}") from error
    return Cassette(scrub(_each(path, entries, _from_har), secrets))


def _each(
    path: str | os.PathLike[str], entries: Any, read: Callable[[Mapping[str, Any]], Exchange]
) -> Iterator[Exchange]:
    """The exchanges of a list of entries; ConfigError names the first that cannot be read."""
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: has no list of exchanges")
    for number, entry in enumerate(cast("list[Any]", entries), start=1):
        try:
            yield read(as_dict(entry))
        except KeyError as error:
            raise ConfigError(f"{path}: exchange {number} has no {error.args[0]!r}") from error
        except ValueError as error:
            raise ConfigError(f"{path}: exchange {number} cannot be read: {error}") from error


def _from_har(entry: Mapping[str, Any]) -> Exchange:
    sent, got = as_dict(entry.get("request")), as_dict(entry.get("response"))
    post = as_dict(sent.get("postData"))
    headers = _har_headers(sent)
    if post.get("mimeType"):
        headers.setdefault("content-type", str(post["mimeType"]))
    request = RecordedRequest(str(sent["method"]), str(sent["url"]), headers, str(post.get("text", "")).encode())
    status = as_int(got.get("status")) or 0
    if status < 100:
        return Exchange(request, error=Failure("ConnectError", str(got.get("_error", "no answer"))))
    content = as_dict(got.get("content"))
    text = str(content.get("text", ""))
    body = base64.b64decode(text) if content.get("encoding") == "base64" else text.encode()
    # HAR bodies are decoded already, whatever the header says.
    kept = {name: value for name, value in _har_headers(got).items() if name != "content-encoding"}
    return Exchange(request, _response(status, kept, body))


def _har_headers(message: Mapping[str, Any]) -> dict[str, str]:
    items = [as_dict(item) for item in as_list(message.get("headers"))]
    return {str(item["name"]).lower(): str(item["value"]) for item in items}


def import_vcr(path: str | os.PathLike[str], *, secrets: Iterable[str] = ()) -> Cassette:
    """A vcrpy cassette (YAML, read with the safe loader). Needs PyYAML."""
    try:
        import yaml
    except ImportError:
        raise ConfigError("reading a vcrpy cassette needs PyYAML: pip install pyyaml") from None
    try:
        data: Any = yaml.safe_load(Path(path).read_bytes())
        interactions = data["interactions"]
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: is not a vcrpy cassette: {error}") from error
    return Cassette(scrub(_each(path, interactions, _from_vcr), secrets))


def _from_vcr(interaction: Mapping[str, Any]) -> Exchange:
    sent, got = as_dict(interaction.get("request")), as_dict(interaction.get("response"))
    request = RecordedRequest(
        str(sent["method"]), str(sent["uri"]), _vcr_headers(sent), _vcr_body(sent, sent.get("body"))
    )
    status = got.get("status_code", as_dict(got.get("status")).get("code"))  # vcrpy's httpx stub, and all its others
    body = got.get("body", got.get("content"))
    text = as_dict(body).get("string") if isinstance(body, dict) else body
    return Exchange(request, _response(as_int(status) or 200, _vcr_headers(got), _vcr_body(got, text)))


def _vcr_headers(message: Mapping[str, Any]) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, value in as_dict(message.get("headers")).items():
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        out[name.lower()] = ", ".join(str(item) for item in values)
    return out


def _vcr_body(message: Mapping[str, Any], body: Any) -> bytes:
    if body is None and "parsed_body" in message:  # a serializer that several projects use
        return dump_json(message["parsed_body"])
    return body if isinstance(body, bytes) else str(body or "").encode()


def import_curl(
    headers: str | os.PathLike[str],
    body: str | os.PathLike[str],
    *,
    url: str,
    method: str | None = None,
    request_body: str | os.PathLike[str] | None = None,
    broken: str | None = None,
    note: str = "",
    secrets: Iterable[str] = (),
) -> Cassette:
    """One exchange from `curl -D HEADERS -o BODY --data @REQUEST_BODY URL`. `headers` may hold several answers (after a
    redirect, or 100 Continue); the last counts. `broken` is curl's message when the transfer did not come to its end.
    """
    status, received = _last_head(Path(headers))
    content = Path(request_body).read_bytes() if request_body is not None else b""
    sent = {"content-type": "application/json"} if content else {}
    request = RecordedRequest(method or ("POST" if content else "GET"), url, sent, content)
    response = _response(status, received, Path(body).read_bytes())
    error = None if broken is None else Failure("RemoteProtocolError", broken)
    return Cassette(scrub([Exchange(request, response, error, note=note)], secrets))


def _last_head(path: Path) -> tuple[int, dict[str, str]]:
    heads = re.split(r"\r?\n\r?\n", path.read_text(encoding="latin-1").strip())
    lines = heads[-1].splitlines()
    found = re.match(r"HTTP/[\d.]+ (\d{3})", lines[0]) if lines else None
    if found is None:
        raise ConfigError(f"{path}: does not begin with a status line; make it with curl -D")
    pairs = [line.partition(":") for line in lines[1:]]
    return int(found.group(1)), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _response(status: int, headers: Mapping[str, str], body: bytes) -> RecordedResponse:
    kept, chunks = decode_body(headers, (Chunk(body),))
    if kept.get("content-encoding") in ("gzip", "deflate"):
        del kept["content-encoding"]  # the tool had decoded the body, and kept the header
    if "event-stream" in kept.get("content-type", ""):
        content = b"".join(chunk.data for chunk in chunks)
        chunks = tuple(Chunk(piece) for piece in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", content) if piece)
    return RecordedResponse(status, kept, chunks)
