"""`web.fetch`: what is read of a page, and how much."""

from __future__ import annotations

import gzip
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from agentloop.toolbox.web import web_tool
from tests.toolbox.site import PUBLIC, Site, page, raw


@pytest.mark.parametrize(("packing", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_page_is_unpacked(fetching: Any, packing: str, pack: Callable[[bytes], bytes]):
    response, _ = raw([pack("grün".encode())], content_encoding=packing)
    assert fetching(Site(response)).text("web.fetch", url="http://example.com/").endswith("grün")


def test_a_packed_page_without_its_end_is_refused(fetching: Any):
    response, _ = raw([gzip.compress(b"one two three")[:-9]], content_encoding="gzip")
    assert "did not arrive whole" in fetching(Site(response)).refusal("web.fetch", url="http://example.com/")


def test_an_answer_of_a_transport_that_was_read_already_is_read_again(fetching: Any):
    assert (
        fetching(Site(httpx.Response(200, text="grün"))).text("web.fetch", url="http://example.com/").endswith("grün")
    )


@pytest.mark.parametrize("charset", ["undefined", "rot13", "idna"])
def test_a_charset_that_is_none_for_pages_is_read_as_utf_8(fetching: Any, charset: str):
    site = Site(page("grün", kind=f"text/plain; charset={charset}"))
    assert fetching(site).text("web.fetch", url="http://example.com/").endswith("grün")


def test_a_page_that_unpacks_to_gigabytes_is_cut_at_the_cap(fetching: Any):
    bomb = gzip.compress(bytes(100_000_000), 9)
    response, body = raw([bomb[n : n + 1000] for n in range(0, len(bomb), 1000)], content_encoding="gzip")
    told = fetching(Site(response), max_bytes=10_000).text("web.fetch", url="http://example.com/")
    assert told.endswith("[cut after 10000 bytes]")
    assert body.taken < 5


def test_a_bomb_in_one_piece_is_not_unpacked_in_one_piece(fetching: Any):
    response, _ = raw([gzip.compress(bytes(30_000_000), 9)], content_encoding="gzip")
    tool = fetching(Site(response), max_bytes=10_000)
    tracemalloc.start()
    tool.text("web.fetch", url="http://example.com/")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_a_page_without_end_is_cut_at_the_cap(fetching: Any):
    response, body = raw(b"x" * 1000 for _ in iter(int, 1))
    assert "[cut after 5000 bytes]" in fetching(Site(response), max_bytes=5000).text("web.fetch", url="http://x.com/")
    assert body.taken < 9


def test_packing_that_unpacks_to_nothing_is_cut_too(fetching: Any):
    response, body = raw((gzip.compress(b"") for _ in iter(int, 1)), content_encoding="gzip")
    fetching(Site(response), max_bytes=1000).text("web.fetch", url="http://x.com/")
    assert body.taken < 60


@pytest.mark.parametrize("packing", ["br", "zstd", "gzip, gzip", "evil"])
def test_packing_that_nobody_asked_for_is_refused(fetching: Any, packing: str):
    response, _ = raw([b"x"], content_encoding=packing)
    assert "not asked for" in fetching(Site(response)).refusal("web.fetch", url="http://example.com/")


def test_bytes_that_drip_end_with_the_time(fetching: Any):
    ticks = iter(range(1000))
    response, body = raw(b"x" for _ in iter(int, 1))
    tool = fetching(Site(response), seconds=9.0, clock=lambda: float(next(ticks)))
    assert "did not arrive within 9 s" in tool.refusal("web.fetch", url="http://example.com/")
    assert body.taken < 12


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "application/pdf", "video/mp4"])
def test_what_is_no_text_is_refused_unread(fetching: Any, kind: str):
    response, body = raw([b"x"], content_type=kind)
    assert "not text" in fetching(Site(response)).refusal("web.fetch", url="http://example.com/")
    assert body.taken == 0


@pytest.mark.parametrize("kind", ["application/json", "application/ld+json", "text/csv", "image/svg+xml"])
def test_other_text_is_given_as_it_is(fetching: Any, kind: str):
    response, _ = raw([b"<a>{}"], content_type=kind)
    assert fetching(Site(response)).text("web.fetch", url="http://example.com/").endswith("<a>{}")


def test_an_error_of_the_site_is_an_error_of_the_call(fetching: Any):
    refusal = fetching(Site(page("no such page", 404))).refusal("web.fetch", url="http://example.com/x")
    assert refusal == "http://example.com/x answered with status 404: no such page"


@pytest.mark.parametrize("charset", ["latin-1", "nonsense"])
def test_the_charset_is_that_of_the_page_or_utf_8(fetching: Any, charset: str):
    response, _ = raw(
        ["grün".encode("latin-1" if charset == "latin-1" else "utf-8")], content_type=f"text/plain; charset={charset}"
    )
    assert fetching(Site(response)).text("web.fetch", url="http://example.com/").endswith("grün")


def test_html_nested_without_end_is_read(fetching: Any):
    site = Site(page("<div>" * 50_000 + "deep", kind="text/html; charset=utf-8"))
    assert "deep" in fetching(site).text("web.fetch", url="http://example.com/")


def test_a_connection_that_fails_is_an_error_of_the_call(calling: Callable[..., Any]):
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    tool = web_tool(transport=httpx.MockTransport(fail), resolve=lambda host, port: (PUBLIC,))
    assert "could not be read: ConnectError: refused" in calling([tool]).refusal("web.fetch", url="http://example.com/")


# --- over a real connection ------------------------------------------------------------------------------------------


class Detour(httpx.BaseTransport):
    """Sends to a server of this machine what was meant for a public address, and changes nothing else."""

    def __init__(self, port: int) -> None:
        self._inner = httpx.HTTPTransport(trust_env=False)
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert request.url.host == PUBLIC
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


class Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = gzip.compress(f"{self.headers['Host']} {self.path}".encode())
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def test_a_server_sees_the_name_it_is_asked_under(calling: Callable[..., Any]):
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        detour = Detour(server.server_port)
        tool = calling([web_tool(transport=detour, resolve=lambda host, port: [PUBLIC])])
        assert tool.text("web.fetch", url="http://example.com/a?b=c").endswith("example.com /a?b=c")
        detour.close()
        thread.join()
