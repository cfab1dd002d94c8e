"""A server that keeps what it is sent, and a bash to send it from."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Sent:
    """A request exactly as it arrived; header names in lower case, headers in order of their names."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes


class RecordingServer:
    def __init__(self, url: str, sent: list[Sent]) -> None:
        self.url = url
        self.sent = sent


@pytest.fixture(scope="session")
def recording_server() -> Iterator[RecordingServer]:
    sent: list[Sent] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            # http.server reads bytes above ASCII as Latin-1, as they are
            headers = sorted((name.lower(), value) for name, value in self.headers.items())
            sent.append(Sent(self.command, self.path, headers, body))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_PUT = do_POST

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield RecordingServer(f"http://127.0.0.1:{server.server_port}", sent)
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def paste(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run text in bash, which has no settings of the person who runs the tests: `paste(text, KEY="...")`."""
    if not (shutil.which("bash") and shutil.which("curl")):
        pytest.skip("bash and curl are needed to run what is pasted")
    home = tmp_path_factory.mktemp("home")

    def run(text: str, *options: str, cwd: Path = home, **variables: str) -> str:
        done = subprocess.run(
            ["bash", "--norc", "--noprofile", *options],
            input=text.encode(),
            capture_output=True,
            cwd=cwd,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8", **variables},
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run
