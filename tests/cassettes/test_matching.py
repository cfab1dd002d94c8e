"""Which requests are the recorded one, and how a difference is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.errors import ConfigError
from agentloop.testing import CassetteMismatch, ReplayTransport
from agentloop.testing.exchanges import RecordedRequest
from agentloop.testing.matching import Matcher

Write = Callable[..., Path]
URL = "https://api.test/v1/chat/completions"
RECORDED = {"model": "m", "messages": [{"role": "user", "content": "é"}], "stream": False}


def key(content: str | bytes = b"", *, url: str = URL, method: str = "POST", ignore: tuple[str, ...] = ()) -> str:
    data = content.encode() if isinstance(content, str) else content
    return Matcher(ignore).subject(RecordedRequest(method, url, {}, data)).key


@pytest.mark.parametrize(
    "body",
    [
        '{"stream":false,"messages":[{"content":"\\u00e9","role":"user"}],"model":"m"}',
        json.dumps(RECORDED, indent=4, ensure_ascii=False),
        "\n" + json.dumps(RECORDED) + "\n",
    ],
)
def test_key_order_white_space_and_escapes_do_not_matter(body: str) -> None:
    assert key(body) == key(json.dumps(RECORDED))


@pytest.mark.parametrize(
    "body",
    [
        {**RECORDED, "messages": [{"role": "user", "content": "e"}]},
        {**RECORDED, "stream": 0},
        {**RECORDED, "stream": None},
        {"model": "m", "messages": RECORDED["messages"]},
    ],
)
def test_another_value_matters(body: dict[str, Any]) -> None:
    assert key(json.dumps(body)) != key(json.dumps(RECORDED))


def test_the_order_of_a_list_matters() -> None:
    assert key('{"messages": ["a", "b"]}') != key('{"messages": ["b", "a"]}')


def test_numbers_are_compared_by_value() -> None:
    assert key('{"temperature": 1}') == key('{"temperature": 1.0}') == key('{"temperature": 1e0}')
    assert key('{"temperature": 1}') != key('{"temperature": true}')
    assert key('{"temperature": 1}') != key('{"temperature": "1"}')


def test_a_body_that_is_not_json_is_compared_by_its_bytes() -> None:
    assert key("a=1&b=2") != key("b=2&a=1")
    assert key(b"\xff") == key(b"\xff")


def test_urls_are_compared_by_meaning() -> None:
    assert key(url="https://API.test:443/a?x=1&y=2") == key(url="https://api.test/a?y=2&x=1")
    assert key(url="https://api.test/a") != key(url="http://api.test/a")
    assert key(url="https://api.test/a") != key(url="https://api.test/b")
    assert key(url="https://api.test/a?x=1") != key(url="https://api.test/a?x=2")


def test_a_parameter_that_holds_a_key_is_not_compared() -> None:
    assert key(url="https://api.test/a?key=one&x=1") == key(url="https://api.test/a?x=1")


@pytest.mark.parametrize(
    ("ignore", "body"),
    [
        ("body", "[]"),
        ("$.messages[0].content", '{"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": false}'),
        ("$.messages[*].content", '{"model": "m", "messages": [{"role": "user"}], "stream": false}'),
        ("$.stream", '{"model": "m", "messages": [{"role": "user", "content": "é"}]}'),
        ("$.messages[0].*", '{"model": "m", "messages": [{}], "stream": false}'),
    ],
)
def test_what_is_ignored_in_the_body_need_not_match(ignore: str, body: str) -> None:
    assert key(body) != key(json.dumps(RECORDED))
    assert key(body, ignore=(ignore,)) == key(json.dumps(RECORDED), ignore=(ignore,))


@pytest.mark.parametrize(
    ("ignore", "url"),
    [
        ("host", "http://127.0.0.1:8080/v1/chat?n=1"),
        ("path", "https://api.test/other?n=1"),
        ("query", "https://api.test/v1/chat"),
        ("query.n", "https://api.test/v1/chat?n=2"),
    ],
)
def test_what_is_ignored_in_the_url_need_not_match(ignore: str, url: str) -> None:
    recorded = "https://api.test/v1/chat?n=1"
    assert key(url=url) != key(url=recorded)
    assert key(url=url, ignore=(ignore,)) == key(url=recorded, ignore=(ignore,))


def test_the_method_can_be_ignored() -> None:
    assert key(method="PUT", ignore=("method",)) == key(method="POST", ignore=("method",))


@pytest.mark.parametrize("rule", ["bdoy", "$", "$.", "$.a[", "$.a[-1]", "messages"])
def test_an_unknown_rule_is_refused(rule: str) -> None:
    with pytest.raises(ConfigError, match="ignore: "):
        Matcher((rule,))


def test_rules_may_stand_in_the_file(write: Write, asked: Any, ask: Any) -> None:
    path = write(asked("hi"), ignore=["$.messages[0].content"])
    with httpx.Client(transport=ReplayTransport(path)) as client:
        assert ask(client, "something else").json() == {"answer": "hello"}


def mismatch(path: Path, **request: Any) -> str:
    with httpx.Client(transport=ReplayTransport(path)) as client, pytest.raises(CassetteMismatch) as caught:
        client.post(URL, **request)
    return str(caught.value)


def test_a_mismatch_shows_the_place_of_the_difference(write: Write, asked: Any) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "bye"}], "temperature": 0}
    text = mismatch(write(asked("hi")), json=body)
    assert "has no exchange left for POST https://api.test/v1/chat/completions" in text
    assert "0 of 1 exchanges were used" in text
    assert '  $.messages[0].content\n    recorded: "hi"\n    sent:     "bye"' in text
    assert "  $.temperature\n    recorded: (absent)\n    sent:     0" in text


def test_a_mismatch_is_an_assertion_error() -> None:
    assert issubclass(CassetteMismatch, AssertionError)


def test_the_nearest_exchange_is_the_one_with_the_fewest_differences(write: Write, asked: Any) -> None:
    text = mismatch(write(asked("one"), asked("two")), json={**asked("two")["request"]["body"], "n": 1})
    assert "nearest is exchange 2 (not used yet)" in text
    assert "content" not in text


def test_a_long_text_is_shown_around_the_difference(write: Write, asked: Any) -> None:
    text = mismatch(
        write(asked("x" * 500 + "A" + "y" * 500)), json=asked("x" * 500 + "B" + "y" * 500)["request"]["body"]
    )
    assert "xA" in text
    assert "xB" in text
    assert "x" * 100 not in text


def test_at_most_ten_differences_are_shown(write: Write) -> None:
    exchange = {"request": {"url": URL, "body": list(range(15))}, "response": {}}
    text = mismatch(write(exchange), json=[-1] * 15)
    assert text.count("recorded:") == 10
    assert "and 5 more" in text


def test_another_method_and_path_are_shown(write: Write, asked: Any) -> None:
    with httpx.Client(transport=ReplayTransport(write(asked()))) as client, pytest.raises(CassetteMismatch) as caught:
        client.get("https://api.test/v1/models")
    assert '  method\n    recorded: "POST"\n    sent:     "GET"' in str(caught.value)
    assert '"https://api.test/v1/models"' in str(caught.value)


def test_an_empty_cassette_says_so(write: Write) -> None:
    assert "The cassette is empty." in mismatch(write(), json={})


def test_a_mismatch_never_shows_a_key(write: Write, asked: Any) -> None:
    headers = {"authorization": "Bearer correct-horse-battery"}
    text = mismatch(write(asked("hi")), json={"user": "correct-horse-battery"}, headers=headers)
    assert "correct-horse" not in text
