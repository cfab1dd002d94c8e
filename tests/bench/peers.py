"""The peers: where each is installed, at which version, and what does with it what our subjects do.

Each peer has an environment of its own under `.venvs/`, since their requirements clash. Nothing but the standard
library may be imported by this module: it is loaded in those environments too.
"""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.subjects import (
    BODY,
    EVENTS,
    KEY,
    QUESTION,
    STREAM_BODY,
    SYSTEM,
    Subject,
    Work,
    asynchronous,
    one_by_one,
)

__all__ = ["PEERS", "PEER_SUBJECTS", "Peer", "install"]


@dataclass(frozen=True, slots=True)
class Peer:
    """`pin` is what pip installs, `module` what its users import, and `names` what an agent's program needs of it."""

    name: str
    pin: str
    module: str
    names: str = ""

    @property
    def statement(self) -> str:
        return f"from {self.module} import {self.names}" if self.names else f"import {self.module}"


PEERS = (
    Peer("openai", "openai==3.57.0", "openai", "OpenAI"),
    Peer("anthropic", "anthropic==2.14.0", "anthropic", "Anthropic"),
    Peer("openai-agents", "openai-agents==0.24.0", "agents", "Agent, Runner"),
    Peer("pydantic-ai", "pydantic-ai-slim[openai]==2.68.0", "pydantic_ai", "Agent"),
    Peer("litellm", "litellm==1.110.2", "litellm", "completion"),
)


def install(peer: Peer, folder: Path) -> Path:
    """The Python of the peer's environment, made when it is not there yet. Raises RuntimeError with pip's own words."""
    home = folder / f"bench-{peer.name}"
    python, stamp = home / "bin" / "python", home / "installed.txt"
    if not stamp.is_file() or stamp.read_text("utf-8") != peer.pin:
        venv.create(home, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.pin]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-400:])
        stamp.write_text(peer.pin, "utf-8")
    return python


# --- one small reply -------------------------------------------------------------------------------------------------


@contextmanager
def openai_respond(base: str) -> Iterator[Work]:
    from openai import OpenAI

    with OpenAI(api_key=KEY, base_url=f"{base}/v1") as client:
        create = client.chat.completions.create
        yield one_by_one(lambda: create(**BODY).choices[0].message.content)


@asynchronous
@asynccontextmanager
async def openai_respond_async(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key=KEY, base_url=f"{base}/v1") as client:

        async def once() -> str:
            return (await client.chat.completions.create(**BODY)).choices[0].message.content

        yield once


@contextmanager
def anthropic_respond(base: str) -> Iterator[Work]:
    from anthropic import Anthropic

    question = [{"role": "user", "content": QUESTION}]
    with Anthropic(api_key=KEY, base_url=base) as client:
        create = client.messages.create
        yield one_by_one(lambda: create(model="m", max_tokens=100, system=SYSTEM, messages=question).content[0].text)


@contextmanager
def litellm_respond(base: str) -> Iterator[Work]:
    completion = _litellm(base)
    yield one_by_one(lambda: completion(messages=BODY["messages"]).choices[0].message.content)


@contextmanager
def pydantic_ai_agent(base: str) -> Iterator[Work]:
    agent = _pydantic_ai_agent(f"{base}/v1")
    yield one_by_one(lambda: agent.run_sync(QUESTION).output)


@contextmanager
def openai_agents_agent(base: str) -> Iterator[Work]:
    from agents import Runner

    agent = _openai_agent(f"{base}/v1")
    yield one_by_one(lambda: Runner.run_sync(agent, QUESTION).final_output)


# --- streams ---------------------------------------------------------------------------------------------------------


@contextmanager
def openai_stream(base: str) -> Iterator[Work]:
    from openai import OpenAI

    with OpenAI(api_key=KEY, base_url=f"{base}/{EVENTS}/1/v1") as client:
        yield one_by_one(lambda: _count(client.chat.completions.create(**STREAM_BODY)))


@contextmanager
def litellm_stream(base: str) -> Iterator[Work]:
    completion = _litellm(f"{base}/{EVENTS}/1")
    yield one_by_one(lambda: _count(completion(messages=BODY["messages"], stream=True)))


@asynchronous
@asynccontextmanager
async def pydantic_ai_stream(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    agent = _pydantic_ai_agent(f"{base}/{EVENTS}/1/v1")

    async def once() -> None:
        async with agent.run_stream(QUESTION) as result:
            count = 0
            async for _ in result.stream_text(delta=True, debounce_by=None):
                count += 1
        assert count >= EVENTS - 5, count

    yield once


@asynchronous
@asynccontextmanager
async def openai_agents_stream(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    from agents import Runner

    agent = _openai_agent(f"{base}/{EVENTS}/1/v1")

    async def once() -> None:
        count = 0
        async for _ in Runner.run_streamed(agent, QUESTION).stream_events():
            count += 1
        assert count >= EVENTS, count

    yield once


# --- how the peers are set up ----------------------------------------------------------------------------------------


def _count(events: Iterator[object]) -> None:
    count = sum(1 for _ in events)
    assert count >= EVENTS - 5, count


def _litellm(base: str) -> Callable[..., object]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it is fetched from the network
    from functools import partial

    import litellm

    litellm.suppress_debug_info, litellm.telemetry = True, False
    return partial(litellm.completion, model="openai/m", api_base=f"{base}/v1", api_key=KEY)


def _pydantic_ai_agent(base_url: str):  # its types are in its own environment
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=base_url, api_key=KEY))
    return Agent(model, instructions=SYSTEM)


def _openai_agent(base_url: str):  # its types are in its own environment
    from agents import Agent, OpenAIChatCompletionsModel, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(model="m", openai_client=AsyncOpenAI(api_key=KEY, base_url=base_url))
    return Agent(name="a", instructions=SYSTEM, model=model)


PEER_SUBJECTS: dict[str, Subject] = {
    "openai respond": openai_respond,
    "openai respond async": openai_respond_async,
    "openai stream": openai_stream,
    "anthropic respond": anthropic_respond,
    "litellm respond": litellm_respond,
    "litellm stream": litellm_stream,
    "pydantic-ai agent": pydantic_ai_agent,
    "pydantic-ai stream": pydantic_ai_stream,
    "openai-agents agent": openai_agents_agent,
    "openai-agents stream": openai_agents_stream,
}
