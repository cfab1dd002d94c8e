"""Several models as one: the next answers when one cannot."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from typing import TypeVar

from agentloop.errors import (
    AuthError,
    ConfigError,
    ModelError,
    ProtocolError,
    QuotaExceeded,
    RateLimited,
    ServerError,
    TransportError,
)
from agentloop.model import AsyncModel, Attempt, AttemptFailed, Model, ModelEvent, ModelRequest, ResponseDone

M = TypeVar("M")

__all__ = ["AsyncFallback", "Fallback", "another_may_answer"]


def another_may_answer(error: ModelError) -> bool:
    """The default rule: the server cannot be reached, is broken, busy, unpaid, or refuses the key. A request that is
    wrong in itself would be refused by the next model too."""
    return isinstance(error, TransportError | ProtocolError | ServerError | RateLimited | QuotaExceeded | AuthError)


class _Turns:
    """What both drivers keep while they go through the models: time left, tries so far, whether one may go on."""

    def __init__(self, count: int, when: Callable[[ModelError], bool], request: ModelRequest) -> None:
        self._count = count
        self._when = when
        self._request = request
        self._started = time.monotonic()
        self._attempts: tuple[Attempt, ...] = ()
        self._content = False

    def request(self) -> ModelRequest:
        """The request with the seconds that are left of it."""
        seconds = self._request.seconds
        if seconds is None:
            return self._request
        return replace(self._request, seconds=max(0.0, seconds - (time.monotonic() - self._started)))

    def see(self, event: ModelEvent) -> ModelEvent:
        if isinstance(event, ResponseDone):
            event.response = replace(event.response, attempts=self._attempts + event.response.attempts)
        elif not isinstance(event, AttemptFailed):
            self._content = True
        return event

    def failed(self, error: ModelError, index: int) -> AttemptFailed:
        """The event to tell before the next model. Raises the error when it is final."""
        cancelled = self._request.cancel is not None and self._request.cancel.cancelled
        final = self._content or cancelled or index + 1 == self._count or not self._when(error)
        error.attempts = [*self._attempts, *error.attempts]
        if final:
            raise error
        last = error.attempts[-1] if error.attempts else Attempt(1, error=f"{type(error).__name__}: {error.message}")
        turned = replace(last, rule=f"{last.rule}; the next model is asked".lstrip("; "), wait=0.0)
        self._attempts = (*error.attempts[:-1], turned)
        return AttemptFailed(turned)


class Fallback:
    """A model that asks the first of `models`, and the next one when it fails before it gave any content.

    `when` decides whether an error is a reason to go on; an error after the first content, and a cancelled call, never
    are. The response tells which model answered (`provider`, `model`), and its `attempts` are those of all models.
    """

    def __init__(self, *models: Model, when: Callable[[ModelError], bool] = another_may_answer) -> None:
        self._models = _at_least_one(models)
        self._when = when

    @property
    def provider(self) -> str:
        return self._models[0].provider

    @property
    def model(self) -> str:
        return self._models[0].model

    def events(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        turns = _Turns(len(self._models), self._when, request)
        for index, model in enumerate(self._models):
            try:
                with closing(model.events(turns.request())) as events:
                    for event in events:
                        yield turns.see(event)
                return
            except ModelError as failed:
                error = failed
            yield turns.failed(error, index)


class AsyncFallback:
    """The same for `async for`."""

    def __init__(self, *models: AsyncModel, when: Callable[[ModelError], bool] = another_may_answer) -> None:
        self._models = _at_least_one(models)
        self._when = when

    @property
    def provider(self) -> str:
        return self._models[0].provider

    @property
    def model(self) -> str:
        return self._models[0].model

    async def events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        turns = _Turns(len(self._models), self._when, request)
        for index, model in enumerate(self._models):
            try:
                async with aclosing(model.events(turns.request())) as events:
                    async for event in events:
                        yield turns.see(event)
                return
            except ModelError as failed:
                error = failed
            yield turns.failed(error, index)


def _at_least_one(models: Sequence[M]) -> Sequence[M]:
    if not models:
        raise ConfigError("Fallback() has no model: give at least one")
    return models
