"""MockProvider: the mock on a real port of this machine, for as long as a `with` lasts; and `serve`, for as long as a
command runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentloop.mock.app import MODEL, MockApp
from agentloop.mock.conversation import Scenario
from agentloop.mock.received import ReceivedRequest
from agentloop.mock.scenarios import scenario as find_scenario
from agentloop.mock.server import Incoming, Server
from agentloop.testing.fault_steps import Answer, Step, steps
from agentloop.testing.faults import Fault, FaultPlan, Faults

if TYPE_CHECKING:
    import random

    import httpx

__all__ = ["MockProvider", "mock_handler", "serve"]


class MockProvider:
    """A rule-driven stand-in for a provider, over real HTTP on loopback.

        with MockProvider() as mock:
            client = Client(mock.base_url, model=mock.model)

    `scenario` is "weather", "echo", the path of a script, or a function from Question to Reply. `faults` meet the
    requests for replies in the order in which they arrive (see agentloop.testing.faults). `requests` lists what was
    received, without keys, refused requests included. The server runs in a thread of its own; leaving the `with` closes
    its sockets, ends its pauses and joins the thread. `async with` does the same.
    """

    model = MODEL

    def __init__(
        self,
        scenario: str | Path | Scenario = "weather",
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        require_key: str | None = None,
        faults: Faults[ReceivedRequest] = (),
        rng: random.Random | None = None,
    ) -> None:
        self.requests: list[ReceivedRequest] = []
        self._respond = _Responder(scenario, require_key, FaultPlan(faults, rng=rng), self.requests.append)
        self._address = (host, port)
        self._base_url = ""
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """The address to give to a client; it ends in /v1."""
        if not self._base_url:
            raise RuntimeError("the mock provider is not running: use it as `with MockProvider() as mock:`")
        return self._base_url

    @property
    def open_connections(self) -> int:
        """How many clients are connected now."""
        return self._server.open_connections if self._server else 0

    def wait_idle(self, seconds: float = 10.0) -> bool:
        """Wait until no client is connected: a server sees a moment later that its client has left. False when there
        still is one after that time."""
        loop, server = self._loop, self._server
        if loop is None or server is None:
            return True
        idle = asyncio.run_coroutine_threadsafe(server.idle(), loop)
        try:
            idle.result(seconds)
        except TimeoutError:
            idle.cancel()
            return False
        return True

    def release(self) -> None:
        """End the next pause of every answer that is under way, so that it goes on with what it still has to send."""
        if self._loop is not None and self._server is not None:
            self._loop.call_soon_threadsafe(self._server.release)

    def start(self) -> None:
        """Listen and serve; returns when the port is open. OSError when it cannot be."""
        if self._base_url:
            raise RuntimeError(f"the mock provider is running already, at {self._base_url}")
        port: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: _run(self._serve(port)), name="agentloop-mock", daemon=True)
        self._thread.start()
        self._base_url = _url(self._address[0], port.result())

    def stop(self) -> None:
        """Stop serving; returns when sockets and thread are gone. Stopping twice does nothing."""
        loop, stopping, thread = self._loop, self._stopping, self._thread
        if loop is not None and stopping is not None and thread is not None:
            loop.call_soon_threadsafe(stopping.set)
            thread.join()
        self._base_url, self._loop, self._server = "", None, None

    async def _serve(self, port: Future[int]) -> None:
        server, stopping = Server(self._respond), asyncio.Event()
        try:
            opened = await server.start(*self._address)
        except Exception as problem:
            port.set_exception(problem)
            return
        self._loop, self._server, self._stopping = asyncio.get_running_loop(), server, stopping
        port.set_result(opened)
        await stopping.wait()
        await server.stop()

    def __enter__(self) -> MockProvider:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> MockProvider:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()


class _Responder:
    """From a request on a socket to the steps of its answer, with its fault."""

    def __init__(
        self,
        scenario: str | Path | Scenario,
        require_key: str | None,
        plan: FaultPlan[ReceivedRequest],
        seen: Callable[[ReceivedRequest], object],
    ) -> None:
        self._app = MockApp(find_scenario(scenario), require_key)
        self._plan = plan
        self._seen = seen

    def __call__(self, incoming: Incoming) -> Sequence[Step]:
        method, target, headers, body = incoming.method, incoming.target, incoming.headers, incoming.body
        received = ReceivedRequest.without_keys(method, target, headers, body, incoming.connection)
        self._seen(received)
        try:
            fault = self._plan.next(received) if self._app.is_model_call(method, target) else Fault()
            if fault.replaces_answer:
                return steps(self._app.no_answer(target), fault)
            return steps(self._app.answer(method, target, headers, body), fault)
        except Exception as problem:  # a user's scenario or choice of faults: its mistake must reach the client
            message = f"the mock provider failed: {type(problem).__name__}: {problem}"
            return steps(Answer(500, (), ()), Fault("status", status=500, message=message))


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    scenario: str | Path | Scenario = "weather",
    require_key: str | None = None,
    faults: Faults[ReceivedRequest] = (),
    ready: Callable[[str], object] | None = None,
    seen: Callable[[ReceivedRequest], object] | None = None,
) -> None:
    """Serve until interrupted (KeyboardInterrupt, which is not raised further).

    `ready` gets the base URL when the port is open; `seen` gets each request, without keys, when it has arrived.
    OSError when the port cannot be opened, ConfigError for a scenario or fault that is none.
    """
    responder = _Responder(scenario, require_key, FaultPlan(faults), seen or (lambda request: None))

    async def run() -> None:
        server = Server(responder)
        address = _url(host, await server.start(host, port))
        try:
            if ready is not None:
                ready(address)
            await asyncio.Event().wait()
        finally:
            await server.stop()

    try:
        _run(run())
    except KeyboardInterrupt:
        return


def mock_handler(
    scenario: str | Path | Scenario = "weather", *, require_key: str | None = None
) -> Callable[[httpx.Request], httpx.Response]:
    """The mock without sockets, for httpx.MockTransport or FaultTransport: a function from request to response.

    What a scenario raises passes through; over a socket it is a 500.
    """
    app = MockApp(find_scenario(scenario), require_key)

    def handle(request: httpx.Request) -> httpx.Response:
        import httpx

        answer = app.answer(request.method, request.url.raw_path.decode(), dict(request.headers), request.read())
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)

    return handle


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1"


def _run(main: Coroutine[Any, Any, None]) -> None:
    """As asyncio.run, with the loop that the server needs on every system."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        runner.run(main)
