"""Whole runs of agents, played from cassettes through the public API: sync and async, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from agentloop import Agent, AsyncAgent, AsyncClient, Client, RunResult, Tool
from agentloop.errors import StreamInterrupted
from agentloop.testing import Cassette, CassetteMismatch, FakeClock, RecordTransport, ReplayTransport, record

RUNS = Path(__file__).parent / "runs"
URL = "http://127.0.0.1:8080/v1"
RunIt = Callable[..., RunResult]


def weather(**_: Any) -> dict[str, Any]:
    return {"celsius": 18, "sky": "light rain"}


def settings(path: Path) -> tuple[dict[str, Any], dict[str, Any], str, bool]:
    """For the client, for the agent, the prompt, and whether to stream: as the first request of the cassette says."""
    request = Cassette.load(path).exchanges[0].request
    body = json.loads(request.content)
    tools = [Tool(**tool["function"], function=weather) for tool in body.get("tools", ())]
    options = {key: body[key] for key in ("temperature", "seed", "max_tokens") if key in body}
    client = {"base_url": request.url.removesuffix("/chat/completions"), "model": body["model"], "clock": FakeClock()}
    agent = {"tools": tools, "request_options": options}
    return client, agent, body["messages"][-1]["content"], body.get("stream", False)


def run_sync(path: Path, prompt: str | None = None, **transport: Any) -> RunResult:
    client_settings, agent_settings, first, stream = settings(path)
    with (
        Client(**client_settings, transport=ReplayTransport(path, **transport)) as client,
        Agent(client, **agent_settings).stream(prompt or first, stream=stream) as events,
    ):
        return events.finish()


def run_async(path: Path, prompt: str | None = None, **transport: Any) -> RunResult:
    async def run() -> RunResult:
        client_settings, agent_settings, first, stream = settings(path)
        async with (
            AsyncClient(**client_settings, transport=ReplayTransport(path, **transport)) as client,
            AsyncAgent(client, **agent_settings).stream(prompt or first, stream=stream) as events,
        ):
            return await events.finish()

    return anyio.run(run)


both = pytest.mark.parametrize("run_it", [run_sync, run_async])


@both
@pytest.mark.parametrize("name", ["weather", "weather-streamed"])
def test_a_run_with_a_tool_gives_the_recorded_answer(run_it: RunIt, name: str) -> None:
    result = run_it(RUNS / "llama-server" / f"{name}.json")
    assert (result.status, result.steps) == ("answered", 2)
    assert result.text == "The weather in Paris is currently 18 degrees Celsius with a light rain."


@both
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_streamed_run_does_not_depend_on_where_chunks_are_cut(run_it: RunIt, size: int) -> None:
    path = RUNS / "llama-server" / "weather-streamed.json"
    assert run_it(path, chunk_size=size).messages == run_it(path).messages


@both
def test_a_refusal_is_waited_out_and_parallel_calls_are_run(run_it: RunIt) -> None:
    result = run_it(RUNS / "litellm-proxy" / "rate-limited.json")
    assert (result.status, result.text) == ("answered", "Paris is the capital of France.")
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "tool", "assistant"]


@both
def test_calls_of_a_proxied_stream_are_run(run_it: RunIt) -> None:
    result = run_it(RUNS / "litellm-proxy" / "weather-streamed.json")
    assert (result.status, result.text, result.steps) == ("answered", "The capital of France is Paris.", 2)


@both
def test_a_server_that_was_killed_ends_the_run_with_what_had_come(run_it: RunIt) -> None:
    result = run_it(RUNS / "llama-server" / "killed.json")
    assert result.status == "model_error"
    assert isinstance(result.error, StreamInterrupted)
    assert result.text.startswith("1\n2\n3\n")


@both
def test_another_prompt_fails_with_the_place_of_the_change(run_it: RunIt) -> None:
    with pytest.raises(CassetteMismatch) as caught:
        run_it(RUNS / "llama-server" / "weather.json", "What is the weather in Rome?")
    assert '$.messages[0].content\n    recorded: "What is the weather in Paris?"' in str(caught.value)


@both
def test_retries_are_answered_in_order_until_none_is_left(run_it: RunIt, write: Any) -> None:
    def exchange(question: str, status: int, body: dict[str, Any]) -> dict[str, Any]:
        request = {"url": f"{URL}/chat/completions"}
        sent = {"model": "m", "messages": [{"role": "user", "content": question}]}
        return {"request": {**request, "body": sent}, "response": {"status": status, "body": body}}

    answer = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "one"}}]}
    path = write(exchange("hi", 429, {"error": {"message": "busy"}}), exchange("hi", 200, answer))
    assert run_it(path).text == "one"
    single = write(exchange("hi", 429, {"error": {"message": "busy"}}), name="y.json")
    with pytest.raises(CassetteMismatch, match=r"recorded once \(exchange 1\) and is used up"):
        run_it(single)


@pytest.mark.anyio
async def test_our_clients_are_recorded_by_a_plain_with(tmp_path: Path) -> None:
    source = RUNS / "llama-server" / "weather.json"
    client_settings, agent_settings, prompt, _ = settings(source)
    client_settings |= {"api_key": "sk-REC-123456"}
    client = Client(**client_settings, transport=ReplayTransport(source))
    with record(tmp_path / "sync.json", client):
        Agent(client, **agent_settings).run(prompt)
    async_client = AsyncClient(**client_settings, transport=ReplayTransport(source))
    with record(tmp_path / "async.json", async_client):
        await AsyncAgent(async_client, **agent_settings).run(prompt)
    recorded = [Cassette.load(tmp_path / name).exchanges for name in ("sync.json", "async.json")]
    assert [exchange.request.content for exchange in recorded[0]] == [e.request.content for e in recorded[1]]
    assert [len(exchanges) for exchanges in recorded] == [2, 2]
    assert "REC" not in (tmp_path / "sync.json").read_text() + (tmp_path / "async.json").read_text()


def read_deltas(transport: httpx.BaseTransport, count: int) -> list[str]:
    """The first deltas of the answer that was broken off; then leave."""
    client_settings, agent_settings, prompt, _ = settings(RUNS / "llama-server" / "killed.json")
    client = Client(**client_settings, transport=transport)
    with client.stream(prompt, **agent_settings["request_options"]) as events:
        return [event.text for event in islice(events, count) if event.type == "text_delta"]


def test_a_stream_that_was_left_after_two_deltas_is_replayed_up_to_there(tmp_path: Path) -> None:
    recorder = RecordTransport(tmp_path / "x.json", ReplayTransport(RUNS / "llama-server" / "killed.json"))
    assert read_deltas(recorder, 2) == ["1", "\n"]
    recorder.close()
    assert Cassette.load(tmp_path / "x.json").exchanges[0].left
    assert read_deltas(ReplayTransport(tmp_path / "x.json"), 2) == ["1", "\n"]
    with pytest.raises(CassetteMismatch, match="its reader left the stream at this point"):
        read_deltas(ReplayTransport(tmp_path / "x.json"), 3)
