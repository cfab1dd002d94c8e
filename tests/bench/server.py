"""A model server that costs next to nothing: every answer is built before the first request comes.

Run: python -m tests.bench.server. It prints its port, and serves until it is stopped. The path says what comes back:

    /v1/chat/completions              a small reply; a stream of 1,000 events when the body asks for one
    /<events>/<per>/v1/chat/...       a stream of so many events, `per` of them in each HTTP chunk
    /idle/v1/chat/completions         a stream that says one word, and then nothing more
    /calls/v1/chat/completions        a call of the tool `look_up` with a new id, whatever was asked
    /v1/messages                      the small reply as Anthropic writes it
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import lru_cache
from typing import Any, cast

__all__ = ["REPLY", "call", "event_texts", "main"]

TEXT = "The quick brown fox jumps over the lazy dog. " * 12
USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 120,
    "total_tokens": 132,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}
BLOCK = 1000  # events that are written at a time, so that a long stream is never in memory as a whole
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _completion(message: dict[str, Any], reason: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "logprobs": None, "finish_reason": reason}
    return json.dumps(_head("chat.completion") | {"choices": [choice], "usage": USAGE}).encode()


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": "m", "system_fingerprint": "fp_1"}


REPLY = _completion({"content": TEXT, "refusal": None}, "stop")
LOOK_UP = {"id": "call_0000000", "type": "function", "function": {"name": "look_up", "arguments": '{"key": "value"}'}}
CALL = _completion({"content": None, "tool_calls": [LOOK_UP]}, "tool_calls")
ANTHROPIC = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 120},
    }
).encode()


def call(number: int) -> bytes:
    """A reply that asks for the tool `look_up`; each number gives another id."""
    return CALL.replace(b"call_0000000", b"call_%07d" % number)


def event_texts(count: int) -> list[bytes]:
    """The JSON of the events of a stream, without what frames them."""
    return [_delta({"content": f" word{number % BLOCK}"}) for number in range(count)]


def _delta(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return json.dumps(_head("chat.completion.chunk") | {"choices": [choice]}).encode()


def _framed(events: list[bytes], per: int) -> bytes:
    lines = [b"data: " + event + b"\n\n" for event in events]
    pieces = [b"".join(lines[start : start + per]) for start in range(0, len(lines), per)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


@lru_cache
def _block(events: int, per: int) -> bytes:
    return _framed(event_texts(events), per)


def _tail(count: int) -> bytes:
    usage = json.dumps(_head("chat.completion.chunk") | {"choices": [], "usage": USAGE | {"completion_tokens": count}})
    return _framed([_delta({}, "stop"), usage.encode(), b"[DONE]"], 1) + b"0\r\n\r\n"


def _whole(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


WHOLE, MESSAGES = _whole(REPLY), _whole(ANTHROPIC)
IDLE = STREAM_HEAD + _framed([_delta({"role": "assistant", "content": "hi"})], 1)
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
STREAM = re.compile(rb'"stream": *true')
SIZES = re.compile(rb" /(\d+)/(\d+)/")


class Connection(asyncio.Protocol):
    """One connection, kept alive. A stream waits whenever the client is slower than we are."""

    def __init__(self) -> None:
        self._received = b""
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._streaming: set[asyncio.Task[None]] = set()
        self._calls = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._streaming:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n") + 4) > 3:
            found = LENGTH.search(self._received, 0, end)
            whole = end + (int(found.group(1)) if found else 0)
            if len(self._received) < whole:
                return
            head, body, self._received = self._received[:end], self._received[end:whole], self._received[whole:]
            self._answer(head.partition(b"\r\n")[0], body)

    def _answer(self, line: bytes, body: bytes) -> None:
        if b"/idle/" in line:
            self._transport.write(IDLE)
        elif b"/calls/" in line:
            self._calls += 1
            self._transport.write(_whole(call(self._calls)))
        elif b"/messages" in line:
            self._transport.write(MESSAGES)
        elif STREAM.search(body):
            sizes = SIZES.search(line)
            events, per = map(int, sizes.groups()) if sizes else (1000, 1)
            task = asyncio.create_task(self._stream(events, per))
            self._streaming.add(task)
            task.add_done_callback(self._streaming.discard)
        else:
            self._transport.write(WHOLE)

    async def _stream(self, events: int, per: int) -> None:
        self._transport.write(STREAM_HEAD)
        for start in range(0, events, BLOCK):
            await self._may_write.wait()
            self._transport.write(_block(min(BLOCK, events - start), per))
        self._transport.write(_tail(events))


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
