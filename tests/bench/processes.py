"""What is measured in fresh processes: imports, the command line, and the memory of streams that say nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.rounds import ROOT, environment

__all__ = ["IDLE", "STATEMENTS", "WITHOUT_CLI", "idle_memory", "import_costs", "program_costs"]

STATEMENTS = {
    "import httpx": "import httpx",
    "import agentloop": "from agentloop import Client, Agent",
    "make httpx": "import httpx; httpx.Client(headers={'Authorization': 'Bearer k'})",
    "make agentloop": "from agentloop import Client, Agent; Agent(Client('https://a.test/v1', model='m', api_key='k'))",
}
"""What is timed inside a new interpreter, by the name of its row."""

WITHOUT_CLI = "import sys; sys.modules['click'] = sys.modules['rich'] = None\n"  # as if the extra were not installed

_TIMED = "{before}from time import process_time\nstart = process_time()\n{statement}\nprint(process_time() - start)"


def import_costs(
    statements: Mapping[str, str], rounds: int, pythons: Mapping[str, Path] = {}, *, before: str = ""
) -> dict[str, list[float]]:
    """Seconds of CPU of each statement in a new interpreter, in turn; the first time, which compiles, is left out."""
    costs: dict[str, list[float]] = {name: [] for name in statements}
    for number in range(rounds + 1):
        for name, statement in statements.items():
            code = _TIMED.format(before=before, statement=statement)
            command = [pythons.get(name, sys.executable), "-c", code]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment())
            if number:
                costs[name].append(float(done.stdout))
    return costs


def program_costs(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Seconds of CPU of whole programs run by this Python, start and end of the interpreter included."""
    costs: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            before = _children_cpu()
            subprocess.run([sys.executable, *command], capture_output=True, check=True, cwd=ROOT, env=environment())
            if number:
                costs[name].append(_children_cpu() - before)
    return costs


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- idle streams ----------------------------------------------------------------------------------------------------

_IDLE = """
import asyncio, gc, os
COUNT = {count}

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

async def main():
{opener}
    kept = [await open_one() for _ in range(20)]
    gc.collect()
    before = resident()
    kept += [await open_one() for _ in range(COUNT)]
    gc.collect()
    print((resident() - before) / COUNT)
    os._exit(0)

try:
    asyncio.run(main())
except BaseException:
    import traceback
    traceback.print_exc()
    os._exit(1)
"""
IDLE = {
    "idle httpx": """
    import httpx
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    client = httpx.AsyncClient(timeout=None, limits=limits)
    async def open_one():
        request = client.build_request("POST", "{base}/idle/v1/chat/completions", json=dict(stream=True))
        response = await client.send(request, stream=True)
        chunks = response.aiter_bytes()
        await anext(chunks)
        return response, chunks
""",
    "idle agentloop": """
    from agentloop import AsyncClient
    client = AsyncClient("{base}/idle/v1", model="m", max_connections=COUNT + 20)
    async def open_one():
        stream = client.stream("Say something about foxes.")
        await anext(stream)
        return stream
""",
    "idle openai": """
    import openai, httpx2
    http = openai.DefaultAsyncHttpxClient(timeout=None, limits=httpx2.Limits(max_connections=None))
    client = openai.AsyncOpenAI(api_key="k", base_url="{base}/idle/v1", http_client=http)
    async def open_one():
        question = [dict(role="user", content="Say something about foxes.")]
        stream = await client.chat.completions.create(model="m", messages=question, stream=True)
        chunks = aiter(stream)
        await anext(chunks)
        return stream, chunks
""",
}
"""How a stream is opened and its first word awaited, inside an async function."""


def idle_memory(
    openers: Mapping[str, str], base: str, rounds: int, pythons: Mapping[str, Path] = {}, *, count: int = 400
) -> dict[str, list[float]]:
    """Resident bytes that each open stream adds to a process. Linux only, since it reads /proc."""
    taken: dict[str, list[float]] = {name: [] for name in openers}
    for _ in range(rounds):
        for name, opener in openers.items():
            code = _IDLE.replace("{opener}", opener).replace("{count}", str(count)).replace("{base}", base)
            command = [pythons.get(name, sys.executable), "-c", code]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment())
            if done.returncode:
                raise RuntimeError(f"{name}: {done.stderr[-800:]}")
            taken[name].append(float(done.stdout))
    return taken
