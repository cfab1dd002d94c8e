"""One request, sent as it was written."""

from __future__ import annotations

import http.server
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentloop.errors import ConfigError, TransportError
from agentloop.http.single import send_once, single_request, single_transport

KEY = "sk-secret-0123456789"


def moved(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/old":
        return httpx.Response(307, headers={"location": "/new"})
    return httpx.Response(200, content=request.content)


@pytest.mark.parametrize(("follow", "status"), [(False, 307), (True, 200)])
def test_redirects_are_followed_on_demand_only(follow: bool, status: int):
    request = single_request("POST", "http://h/old", [], b"body")
    with send_once(request, httpx.MockTransport(moved), follow=follow) as response:
        assert (response.status_code, response.read()) == (status, b"body" if follow else b"")


def test_headers_go_as_they_were_written():
    request = single_request("POST", "http://h/", [("X-A", "1"), ("x-a", "2"), ("X-Empty", "")], b"{}")
    assert request.headers.multi_items() == [
        ("host", "h"),
        ("x-a", "1"),
        ("x-a", "2"),
        ("x-empty", ""),
        ("content-length", "2"),
    ]


def test_a_bound_is_for_each_wait():
    timeout = single_request("GET", "http://h/", [], None, seconds=2.5).extensions["timeout"]
    assert timeout == {"connect": 2.5, "read": 2.5, "write": 2.5, "pool": 2.5}


def test_a_failure_names_the_address_and_no_key():
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"refused {KEY}", request=request)

    request = single_request("GET", f"http://h/x?key={KEY}", [], None)
    with pytest.raises(TransportError, match="http://h/x") as caught, send_once(request, httpx.MockTransport(fail)):
        pass
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(("url", "header"), [("http://h:port", "x"), ("http://h", "é\n")])
def test_what_cannot_be_sent_is_refused(url: str, header: str):
    with pytest.raises(ConfigError, match="cannot be sent"):
        single_request("GET", url, [("X-A", header)], None)


@pytest.fixture
def untrusted_server(tmp_path: Path) -> Iterator[str]:
    """A TLS server with a certificate that nobody has signed."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is needed to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
    subprocess.run([*make.split(), "-keyout", key, "-out", certificate], capture_output=True, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_an_untrusted_certificate_is_refused(untrusted_server: str):
    request = single_request("GET", untrusted_server, [], None)
    with pytest.raises(TransportError, match="certificate"), send_once(request, single_transport(untrusted_server)):
        pass


def test_an_untrusted_certificate_is_taken_with_consent(untrusted_server: str):
    request = single_request("GET", untrusted_server, [], None)
    with send_once(request, single_transport(untrusted_server, insecure=True)) as response:
        assert response.status_code == 204
