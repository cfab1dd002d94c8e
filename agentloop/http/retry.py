"""When a failed attempt is repeated, and after how long."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from agentloop.errors import ConfigError, ModelError, StatusError

__all__ = ["RetryPolicy", "Schedule", "Verdict"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a client retries.

    attempts    tries in all, the first one included
    base        seconds before the second try; doubled for each further one
    cap         the longest wait, own or asked for by the server: a longer one fails at once, and the error tells it
    budget      seconds that all waits of one call may add up to; None: no bound
    jitter      the part of an own wait that is left to chance, 0 to 1; a wait that the server named is never shortened
    predicate   decides instead of `error.retryable`; what was passed on to the caller is never repeated in any case
    random      gives numbers from 0 to 1
    """

    attempts: int = 3
    base: float = 0.5
    cap: float = 60.0
    budget: float | None = None
    jitter: float = 0.25
    predicate: Callable[[ModelError], bool] | None = None
    random: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def __post_init__(self) -> None:
        attempts = cast("object", self.attempts)
        if not (isinstance(attempts, int) and attempts >= 1):
            raise ConfigError(
                f"RetryPolicy(attempts={attempts!r}): a whole number; the first try counts, so at least 1"
            )
        for name in ("base", "cap", "budget"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and value >= 0):
                raise ConfigError(f"RetryPolicy({name}={value!r}): seconds, 0 or more")
        if not 0 <= self.jitter <= 1:
            raise ConfigError(f"RetryPolicy(jitter={self.jitter!r}): from 0 to 1")


class Verdict(NamedTuple):
    """`wait` is None when the error is final; `rule` says which rule decided."""

    wait: float | None
    rule: str


class Schedule:
    """The retries of one call. Made at its first failure, so that a call that succeeds at once pays nothing."""

    def __init__(self, policy: RetryPolicy) -> None:
        import tenacity

        self._policy = policy
        self._state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
        self._stop = tenacity.stop_after_attempt(policy.attempts)
        self._wait = tenacity.wait_exponential(multiplier=policy.base, max=policy.cap)
        self._waited = 0.0

    def after(self, error: ModelError, *, left: float, at_once: bool = False) -> Verdict:
        """What follows a failure. `left` is the time that the call still has; `at_once` asks for no wait."""
        policy = self._policy
        if not (policy.predicate(error) if policy.predicate else error.retryable):
            return Verdict(None, "not retryable")
        if self._stop(self._state):
            return Verdict(None, f"attempts used up ({policy.attempts})")
        wait, rule = (0.0, "the idle connection was stale") if at_once else self._next_wait(error)
        if wait > policy.cap:
            return Verdict(None, f"{rule}: {_seconds(wait)} are more than cap={policy.cap:g}")
        if wait >= left:
            return Verdict(None, f"{rule}: {_seconds(wait)} are more than the call has left")
        if policy.budget is not None and self._waited + wait > policy.budget:
            return Verdict(None, f"{rule}: {_seconds(wait)} are more than is left of budget={policy.budget:g}")
        self._waited += wait
        self._state.prepare_for_next_attempt()
        return Verdict(wait, rule)

    def _next_wait(self, error: ModelError) -> tuple[float, str]:
        asked = error.retry_after if isinstance(error, StatusError) else None
        if asked:  # 0 and a date in the past leave the wait to us
            return asked, "retry-after"
        own = self._wait(self._state)
        return own * (1 - self._policy.jitter * self._policy.random()), "back-off"


def _seconds(wait: float) -> str:
    return "endless seconds" if math.isinf(wait) else f"{wait:g} s"
