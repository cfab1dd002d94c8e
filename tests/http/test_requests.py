"""What is sent, where, and what is refused before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
import respx

from agentloop.cancel import CancelSignal
from agentloop.errors import ConfigError, HistoryError, RequestRejected, TransportError
from agentloop.http.async_client import AsyncClient
from agentloop.http.client import Client
from agentloop.http.environment import from_environment
from agentloop.http.retry import RetryPolicy
from agentloop.http.timeouts import Timeouts
from agentloop.messages import UserMessage
from tests.http.peers import OK, Answers, Driver, piece, sse


@pytest.mark.parametrize(
    ("base_url", "sent"),
    [
        ("http://h:8080/v1", "http://h:8080/v1/chat/completions"),
        ("http://h:8080/v1/", "http://h:8080/v1/chat/completions"),
        ("http://h:8080", "http://h:8080/chat/completions"),
        (
            " https://h/openai/deployments/d?api-version=3 ",
            "https://h/openai/deployments/d/chat/completions?api-version=3",
        ),
        ("http://user:pass@h/v1", "http://h/v1/chat/completions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_the_path_is_joined_to_the_base_url(base_url: str, sent: str) -> None:
    assert str(Client(base_url, model="m", transport=Answers()).build_request("hi").url) == sent


NO_URLS = ["", "localhost:8080/v1", "ftp://h/v1", "http://", "http://h:port/v1", "http://h:65536", "http://a..b"]


@pytest.mark.parametrize("base_url", [*NO_URLS, "http://a b", "http://[::1", f"http://{64 * 'a'}.test"])
def test_a_base_url_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        Client(base_url, model="m", transport=Answers())


def test_build_request_is_what_respond_sends() -> None:
    transport = Answers(OK)
    client = Client("http://h/v1", model="m", api_key="sk-123456789", transport=transport)
    built = client.build_request("hi", temperature=0.5)
    client.respond("hi", temperature=0.5)
    sent = transport.requests[0]
    assert (built.method, built.url, built.headers, built.content) == (
        sent.method,
        sent.url,
        sent.headers,
        sent.content,
    )


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_build_request_lists_what_was_mended(kind: Any) -> None:
    client = kind("http://h/v1", model="m", transport=Answers())
    orphan = {"role": "tool", "tool_call_id": "c1", "content": "4"}
    built = client.build_request([{"role": "user", "content": "hi"}, orphan])
    assert [made.what for made in built.extensions["repairs"]] == [
        "message 1: a tool result without a call was left out"
    ]
    assert client.build_request("hi").extensions["repairs"] == ()


@pytest.mark.anyio
async def test_both_clients_build_the_same_requests() -> None:
    built = [
        kind("http://h/v1", model="m", transport=Answers()).build_request("hi", stream=True)
        for kind in (Client, AsyncClient)
    ]
    assert built[0].content == built[1].content
    assert built[0].headers == built[1].headers


def test_headers_of_a_whole_reply() -> None:
    headers = (
        Client("http://h:81/v1", model="m", api_key="sk-123456789", transport=Answers()).build_request("hi").headers
    )
    assert headers["host"] == "h:81"
    assert headers["authorization"] == "Bearer sk-123456789"
    assert headers["content-type"] == "application/json"
    assert headers["accept"] == "application/json"
    assert headers["accept-encoding"].startswith("gzip, deflate")
    assert headers["user-agent"].startswith("agentloop/")


def test_a_stream_is_asked_for_uncompressed() -> None:
    headers = Client("http://h/v1", model="m", transport=Answers()).build_request("hi", stream=True).headers
    assert (headers["accept"], headers["accept-encoding"]) == ("text/event-stream", "identity")


def test_extra_headers_win_whatever_their_case() -> None:
    client = Client("http://h/v1", model="m", api_key="sk-1", extra_headers={"user-AGENT": "me"}, transport=Answers())
    headers = client.build_request("hi", extra_headers={"AUTHORIZATION": "Bearer other", "x-a": "1"}).headers
    assert (headers["user-agent"], headers["authorization"], headers["x-a"]) == ("me", "Bearer other", "1")
    assert len(headers.get_list("authorization")) == 1


def test_user_info_of_the_base_url_becomes_basic_authorization() -> None:
    headers = Client("http://user:pass@h/v1", model="m", transport=Answers()).build_request("hi").headers
    assert headers["authorization"] == "Basic dXNlcjpwYXNz"


def test_a_provider_may_take_its_key_in_another_header() -> None:
    client = Client("http://h/v1", model="m", api_key="sk-123", quirks="azure", transport=Answers())
    assert client.build_request("hi").headers["api-key"] == "sk-123"


def test_the_provider_is_told_from_the_base_url() -> None:
    client = Client("https://api.deepseek.com/v1", model="m", api_key="sk-123", transport=Answers())
    assert client.provider == "deepseek"


def test_messages_may_be_objects_or_dicts() -> None:
    client = Client("http://h/v1", model="m", transport=Answers())
    as_dicts = client.build_request([{"role": "user", "content": "hi"}])
    assert as_dicts.content == client.build_request([UserMessage("hi")]).content == client.build_request("hi").content
    with pytest.raises(HistoryError):
        client.build_request([{"role": "nobody", "content": "hi"}])


@pytest.mark.parametrize("messages", [UserMessage("hi"), {"role": "user", "content": "hi"}, ["hi"], b"hi"])
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    with pytest.raises(HistoryError, match=r"list|a message is"):
        Client("http://h/v1", model="m", transport=Answers()).build_request(messages)


@pytest.mark.parametrize(
    ("tools", "told"), [([len], "wrap functions with tool"), ({"type": "function"}, "into a list")]
)
def test_what_is_no_list_of_tools_is_refused(tools: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Client("http://h/v1", model="m", transport=Answers()).build_request("hi", tools=tools)


def test_options_that_are_none_are_not_sent() -> None:
    body = Client("http://h/v1", model="m", transport=Answers()).build_request("hi", temperature=None, seed=0).content
    assert sorted(json.loads(body)) == ["messages", "model", "seed"]


def test_a_respx_router_serves_as_transport(driver: Driver) -> None:
    router = respx.Router(assert_all_called=True)
    router.post("http://model.test/v1/chat/completions", json__model="m").respond(json=OK)
    handler = router.handler if driver.name == "threads" else router.async_handler
    assert driver.respond(httpx.MockTransport(handler)).text == "ok"


def test_the_transport_can_be_read_and_replaced() -> None:
    client = Client("http://h/v1", model="m", transport=Answers())
    client.transport = Answers(OK)
    assert client.respond("hi").text == "ok"
    assert len(client.transport.requests) == 1


def test_a_call_that_was_cancelled_before_sends_nothing(driver: Driver) -> None:
    cancel, transport = CancelSignal(), Answers(OK)
    cancel.cancel()
    with pytest.raises(TransportError, match="cancelled"):
        driver.respond(transport, cancel=cancel)
    assert transport.requests == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_refused_and_their_target_named(driver: Driver, status: int) -> None:
    moved = httpx.Response(status, headers={"location": "https://elsewhere.test/v1"})
    with pytest.raises(RequestRejected, match=r"https://elsewhere\.test/v1") as caught:
        driver.respond(Answers(moved))
    assert (caught.value.status, caught.value.retryable) == (status, False)


@pytest.mark.parametrize(
    "settings", [{"attempts": 0}, {"attempts": "3"}, {"base": -1}, {"base": "1"}, {"cap": float("nan")}, {"jitter": 2}]
)
def test_a_policy_that_makes_no_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        RetryPolicy(**settings)


@pytest.mark.parametrize("value", [0, -1, float("nan"), "5"])
def test_a_timeout_that_makes_no_sense_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="idle"):
        Timeouts(idle=value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"model": ""}, "model is empty"),
        ({"max_connections": 0}, "max_connections=0"),
        ({"timeout": 3}, "no setting timeout; did you mean timeouts"),
        ({"organisation": "x"}, "no setting organisation; it has api_key, "),
        ({"retry": 3}, r"retry=RetryPolicy\(attempts=3\)"),
        ({"timeouts": 30}, r"timeouts=Timeouts\(total="),
        ({"timeouts": None}, r"timeouts=Timeouts\(total="),
        ({"extra_headers": {"x y": "1"}}, "'x y'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Client(**{"base_url": "http://h/v1", "model": "m", "transport": Answers(), **settings})


def test_from_env_makes_a_client_of_the_variables(driver: Driver) -> None:
    kind = Client if driver.name == "threads" else AsyncClient
    client = kind.from_env("ollama", model="qwen", api_key="ollama-key", transport=Answers())
    assert (client.provider, client.model) == ("ollama", "qwen")
    assert client.build_request("hi").headers["authorization"] == "Bearer ollama-key"
    assert repr(client) == f"{kind.__name__}('http://localhost:11434/v1', model='qwen', provider='ollama')"


def test_an_unknown_wire_is_refused() -> None:
    with pytest.raises(ConfigError, match="'soap'"):
        Client("http://h/v1", model="m", wire="soap")


def test_stream_gives_events_and_then_the_response() -> None:
    client = Client("http://h/v1", model="m", transport=Answers(sse(piece("he"), piece("llo", "stop"), "[DONE]")))
    with client.stream("hi") as events:
        assert events.response is None
        assert [event.type for event in events] == ["text_delta", "text_delta", "response_done"]
    assert events.response is not None
    assert events.response.text == "hello"


@pytest.mark.anyio
async def test_stream_gives_events_and_then_the_response_in_asyncio() -> None:
    answers = Answers(sse(piece("he"), piece("llo", "stop"), "[DONE]"))
    async with AsyncClient("http://h/v1", model="m", transport=answers) as client, client.stream("hi") as events:
        assert [event.type async for event in events] == ["text_delta", "text_delta", "response_done"]
    assert events.response is not None
    assert events.response.text == "hello"


# --- from the environment --------------------------------------------------------------------------------------------


def found(environment: Mapping[str, str], name: str | None = None, **settings: Any) -> tuple[Any, ...]:
    base_url, model, more = from_environment(name, settings.pop("model", None), settings, environment)
    key = more.get("api_key")
    return base_url, model, key.reveal() if key else None


def test_a_provider_is_found_by_its_variables() -> None:
    environment = {"DEEPSEEK_API_KEY": " sk-1\n", "DEEPSEEK_MODEL": "deepseek-x"}
    assert found(environment, "deepseek") == ("https://api.deepseek.com", "deepseek-x", "sk-1")


def test_the_model_given_wins_and_the_base_url_may_come_from_a_variable() -> None:
    environment = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://proxy/v1", "OPENAI_MODEL": "a"}
    assert found(environment, "openai", model="b") == ("http://proxy/v1", "b", "sk-1")


def test_our_own_variables_name_any_server() -> None:
    environment = {"AGENTLOOP_BASE_URL": "http://localhost:1/v1", "AGENTLOOP_MODEL": "m", "OPENAI_API_KEY": "sk-1"}
    assert found(environment) == ("http://localhost:1/v1", "m", None)


def test_the_only_provider_with_a_key_is_taken() -> None:
    assert found({"DEEPSEEK_API_KEY": "sk-1", "OPENAI_API_KEY": ""})[0] == "https://api.deepseek.com"


@pytest.mark.parametrize(
    ("environment", "name", "told"),
    [
        ({}, None, "AGENTLOOP_BASE_URL and AGENTLOOP_MODEL"),
        ({}, "openai", "set OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": "sk-1"}, "openai", "set OPENAI_MODEL"),
        ({"OPENAI_API_KEY": "sk-1", "GROQ_API_KEY": "gsk-1"}, None, "several providers have a key: name one of "),
        ({"OPENAI_API_KEY": "sk-\u200b1"}, "openai", "the variable OPENAI_API_KEY: character 4"),
        ({"AZURE_OPENAI_API_KEY": "k"}, "azure", "set AZURE_OPENAI_BASE_URL"),
        ({}, "nobody", "deepseek"),
    ],
)
def test_what_is_missing_is_named(environment: dict[str, str], name: str | None, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        found(environment, name)


def test_a_local_provider_needs_no_key() -> None:
    assert found({"OLLAMA_MODEL": "qwen"}, "ollama") == ("http://localhost:11434/v1", "qwen", None)
