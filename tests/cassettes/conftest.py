"""Builders for tests of cassettes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

URL = "https://api.test/v1/chat/completions"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a cassette by hand: each argument is one exchange."""

    def write_exchanges(*exchanges: dict[str, Any], name: str = "x.json", **more: Any) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps({"exchanges": exchanges, **more}), encoding="utf-8")
        return path

    return write_exchanges


@pytest.fixture
def asked() -> Callable[..., dict[str, Any]]:
    """An exchange of one question with a short answer."""

    def exchange(question: str = "hi", answer: str = "hello", **response: Any) -> dict[str, Any]:
        request = {"url": URL, "body": {"model": "m", "messages": [{"role": "user", "content": question}]}}
        return {"request": request, "response": response or {"body": {"answer": answer}}}

    return exchange


@pytest.fixture
def ask() -> Callable[..., httpx.Response]:
    """Send that question."""

    def send(client: httpx.Client, question: str = "hi") -> httpx.Response:
        return client.post(URL, json={"model": "m", "messages": [{"role": "user", "content": question}]})

    return send


collect_ignore = ["project"]  # a project of its own, which tests run in a copy
