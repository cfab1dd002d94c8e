"""Who answers: the client that the options and the environment name, or the built-in stand-in."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from agentloop.cli.screen import Screen
from agentloop.cli.settings import Settings
from agentloop.errors import ConfigError

if TYPE_CHECKING:
    from agentloop.http.client import Client
    from agentloop.http.endpoint import ClientSettings

__all__ = ["STAND_IN", "key_variable", "open_client"]

_KEY_STAND_IN = "key-that-is-not-set-0000"
STAND_IN = "mock (a rule-driven stand-in answers here, no model)"


@contextmanager
def open_client(settings: Settings, screen: Screen, *, unsent: bool = False) -> Generator[Client]:
    """The client for a command, closed at its end. Raises ConfigError when nobody is named who could answer. When the
    requests will be `unsent`, a key that is not set is replaced by a stand-in."""
    with ExitStack() as stack:
        if settings.mock:
            screen.note(STAND_IN)
            client = _stand_in(settings, stack)
        else:
            client = _named(settings, _KEY_STAND_IN if unsent else None)
        stack.callback(client.close)
        if settings.record:
            from agentloop.testing import record

            stack.enter_context(record(settings.record, client, mode="all"))
        if settings.show_requests:
            from agentloop.cli.requests import ShownTransport, curl_lines, request_lines

            lines = request_lines if settings.show_requests == "text" else curl_lines(key_variable(settings))
            cast("Any", client).transport = ShownTransport(client.transport, screen, lines)
        yield client


def key_variable(settings: Settings) -> str | None:
    """The variable that the key of these settings comes from, or None when only the server's address can tell."""
    if settings.key_env:
        return settings.key_env
    if settings.provider:
        from agentloop.wire.quirks import preset

        return preset(settings.provider).key_env
    own = settings.base_url is None and os.environ.get("AGENTLOOP_BASE_URL", "").strip()
    return "AGENTLOOP_API_KEY" if own else None


def _stand_in(settings: Settings, stack: ExitStack) -> Client:
    from agentloop.http.client import Client
    from agentloop.mock import MockProvider

    if settings.base_url or settings.provider or settings.key_env:
        raise click.UsageError("--mock answers by itself: leave out --provider, --base-url and --key-env")
    mock = stack.enter_context(MockProvider())
    model = settings.model or mock.model
    shared = _shared(settings)
    shared.update(provider="mock", trust_env=False)
    return Client(mock.base_url, model=model, **shared)


def _named(settings: Settings, key_stand_in: str | None) -> Client:
    from agentloop.http.client import Client

    if settings.base_url is None:
        if settings.key_env:
            raise click.UsageError("--key-env belongs to --base-url: a known provider has its own variable")
        return _from_environment(settings, key_stand_in)
    model = settings.model or _default_model(settings.provider)
    if not model:
        raise click.UsageError("--base-url needs --model: the name of a model that the server knows")
    shared = _shared(settings)
    key = _key(settings.key_env, key_stand_in) if settings.key_env else None
    shared.update(api_key=key, provider=settings.provider)
    return Client(settings.base_url, model=model, **shared)


def _from_environment(settings: Settings, key_stand_in: str | None) -> Client:
    from agentloop.http.client import Client

    shared = _shared(settings)
    try:
        try:
            return Client.from_env(settings.provider, model=settings.model, **shared)
        except ConfigError:
            if key_stand_in is None:
                raise
            shared["api_key"] = key_stand_in  # when something else is wrong, this fails too, and says what
            return Client.from_env(settings.provider, model=settings.model, **shared)
    except ConfigError as error:
        hint = "(here also: --model NAME; another server by --base-url URL; --mock, the built-in stand-in)"
        raise ConfigError(f"{error}\n{hint}") from error


def _default_model(provider: str | None) -> str | None:
    if provider is None:
        return None
    from agentloop.wire.quirks import preset

    return preset(provider).default_model


def _key(variable: str, stand_in: str | None) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", variable, re.ASCII):
        raise ConfigError("--key-env takes the name of a variable, such as MY_KEY, and not the key itself")
    key = os.environ.get(variable, "").strip() or stand_in
    if not key:
        raise ConfigError(f"the variable {variable} that --key-env names is not set")
    return key


def _shared(settings: Settings) -> ClientSettings:
    """What holds for a client whoever answers."""
    from agentloop.http.retry import RetryPolicy

    retry = RetryPolicy() if settings.retries is None else RetryPolicy(attempts=settings.retries + 1)
    return {"wire": settings.wire, "tool_protocol": settings.tool_protocol, "retry": retry}
