"""One call with its retries, without I/O: the two drivers ask it what to send, and tell it what came of it."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace

import httpx

from agentloop.cancel import CancelSignal
from agentloop.errors import ModelError, ModelTimeout, StatusError
from agentloop.http.deadlines import Watch
from agentloop.http.endpoint import Endpoint, sensitive_values
from agentloop.http.failures import BROKEN, UNSENT, cancelled, timed_out, transport_failure
from agentloop.http.log import logger
from agentloop.http.replies import Reply, open_reply
from agentloop.http.retry import Schedule
from agentloop.http.secrets import Secret, redact_text
from agentloop.model import Attempt, AttemptFailed, ModelEvent, ModelRequest, ModelResponse, ResponseDone
from agentloop.wire.headers import kept_headers, request_id

__all__ = ["Call"]

LINGER = 0.1  # seconds that the end of a stream may take after its last event, for the sake of the connection


class Call:
    """The state of one call. `begin` before each attempt; then `reply`, `take` for each chunk, and `pass_on` for the
    end, or `failure`; then `after`."""

    def __init__(self, endpoint: Endpoint, request: ModelRequest) -> None:
        """Encodes the request. Raises ConfigError when the wire cannot say it."""
        self._endpoint = endpoint
        self._request = request
        self._extra_headers = request.options.get("extra_headers")
        extra = sensitive_values(self._extra_headers) if self._extra_headers else ()
        self._secrets = (*endpoint.secrets, *map(Secret, extra))
        self._encoded = endpoint.wire.encode(request)
        bounds = (endpoint.timeouts.total, request.seconds)
        self._total = min((bound for bound in bounds if bound is not None), default=math.inf)
        self._end = endpoint.clock.monotonic() + self._total
        self._attempts: list[Attempt] = []
        self._schedule: Schedule | None = None
        self._status: int | None = None
        self._unsent = False  # nothing of the request had reached the server
        self._stale = False  # the server had closed an idle connection, which we noticed only when sending on it
        self._reply: Reply | None = None
        self.finished = False
        self.watch: Watch = self._new_watch()

    def _new_watch(self) -> Watch:
        endpoint, request = self._endpoint, self._request
        return Watch(
            endpoint.timeouts,
            endpoint.clock,
            end=self._end,
            total=self._total,
            cancel=request.cancel,
            stream=request.stream,
        )

    @property
    def cancel(self) -> CancelSignal | None:
        return self._request.cancel

    def begin(self) -> httpx.Request:
        """The request of the next attempt; its clock starts. Raises when the call was cancelled meanwhile."""
        if self._attempts:
            self.watch = self._new_watch()
        self._reply, self._status, self._unsent, self._stale = None, None, False, False
        if self.watch.cancelled:
            self._unsent = True
            raise cancelled()
        return self._http_request(self.watch)

    def to_show(self) -> httpx.Request:
        """The request outside of an attempt, with what was mended in its messages as the extension "repairs"."""
        request = self._http_request(None)
        request.extensions["repairs"] = self._encoded.repairs
        return request

    def _http_request(self, watch: Watch | None) -> httpx.Request:
        return self._endpoint.http_request(
            self._encoded.body,
            stream=self._request.stream,
            extra_headers=self._extra_headers,
            timeout=watch.extension() if watch else None,
        )

    # --- an attempt ----------------------------------------------------------------------------------------------

    def reply(self, response: httpx.Response) -> Reply:
        """What reads the response's body. Raises RequestRejected for a redirect, and when the call was
        cancelled or is late."""
        endpoint = self._endpoint
        self._status = response.status_code
        self._check()
        self.watch.refresh()
        self._reply = open_reply(
            endpoint.wire,
            self._request,
            response.status_code,
            response.headers,
            now=endpoint.clock.time(),
            provider=endpoint.provider,
            model=endpoint.model,
        )
        return self._reply

    def _check(self) -> None:
        """Raises when the call was cancelled, or is late with a transport that keeps no deadlines."""
        if self.watch.cancelled:
            raise cancelled(self._partial())
        if not self.watch.governed and self.watch.overdue():
            raise self._timed_out()

    def take(self, reply: Reply, chunk: bytes, response: httpx.Response) -> Sequence[ModelEvent]:
        """The events of the next bytes, as they go to the caller. Raises what `reply.feed` raises, and when the
        call was cancelled or is late."""
        watch = self.watch
        if watch.cancelled or not watch.governed:
            self._check()
        events = reply.feed(chunk)
        if events:
            self.pass_on(events, response)
        return events

    def pass_on(self, events: Sequence[ModelEvent], response: httpx.Response) -> Sequence[ModelEvent]:
        """The events as they go to the caller; the last one of the reply gets what only the client knows."""
        last = events[-1]
        if type(last) is ResponseDone:
            self.finished = True
            last.response = self._complete(last, response)
            return events
        watch = self.watch
        watch.stirred = True
        if not watch.governed:
            watch.refresh()
        return events

    def _complete(self, done: ResponseDone, response: httpx.Response) -> ModelResponse:
        kept = kept_headers(response.headers)
        seconds = self._endpoint.clock.monotonic() - self.watch.started
        attempt = Attempt(len(self._attempts) + 1, status=self._status, seconds=seconds)
        self._log(attempt)
        return replace(
            done.response,
            request_id=request_id(kept),
            headers=kept,
            attempts=(*self._attempts, attempt),
            notes=self._encoded.notes + done.response.notes,
            repairs=self._encoded.repairs + done.response.repairs,
        )

    def no_slot(self) -> ModelError:
        """The error of a call that got no turn in time."""
        self._unsent = True
        return cancelled() if self.watch.cancelled else self._timed_out()

    def failure(self, error: httpx.HTTPError) -> ModelError:
        """Our error for one of httpx's. The cause is a copy that holds no request, so no key."""
        self._unsent = isinstance(error, UNSENT)
        self._stale = self.watch.reused and not self.watch.answered and isinstance(error, BROKEN)
        found = (self._reply.verdict() if self._reply else None) or self._transport_failure(error)
        found.__cause__ = type(error)(redact_text(str(error), self._secrets))
        return found

    def _transport_failure(self, error: httpx.HTTPError) -> ModelError:
        partial = self._partial()
        if self.watch.cancelled:
            return cancelled(partial)
        return transport_failure(
            error,
            watch=self.watch,
            base_url=self._endpoint.base_url,
            streaming=self._request.stream and self._reply is not None,
            partial=partial,
        )

    def _timed_out(self) -> ModelTimeout:
        name = self.watch.armed
        return timed_out(name, self.watch.seconds_of(name), self._partial())

    def _partial(self) -> ModelResponse | None:
        return self._reply.partial() if self._reply else None

    # --- between attempts ----------------------------------------------------------------------------------------

    def after(self, error: ModelError) -> AttemptFailed:
        """The event to tell before the next try. Raises the error when it is final."""
        error.provider = error.provider or self._endpoint.provider
        error.model = error.model or self._endpoint.model
        self._clean(error)
        now = self._endpoint.clock.monotonic()
        wait, rule = self._decide(error, now)
        attempt = Attempt(
            len(self._attempts) + 1,
            error=f"{type(error).__name__}: {error.message}",
            status=error.status if isinstance(error, StatusError) else self._status,
            rule=rule,
            wait=wait,
            seconds=now - self.watch.started,
            safe=self._unsent or (isinstance(error, StatusError) and error.status == 429),
        )
        self._attempts.append(attempt)
        self._log(attempt)
        if wait is None:
            error.attempts = list(self._attempts)
            raise error
        return AttemptFailed(attempt)

    def _decide(self, error: ModelError, now: float) -> tuple[float | None, str]:
        if self._reply is not None and self._reply.content_seen:
            error.retryable = False
            return None, "content was passed on"
        if self.watch.cancelled:
            return None, "cancelled"
        if self._schedule is None:
            self._schedule = Schedule(self._endpoint.retry)
        return self._schedule.after(error, left=self._end - now, at_once=self._stale)

    def _clean(self, error: ModelError) -> None:
        """Take keys out of an error that the wire made, and what it was raised from: that may hold the whole body."""
        if not isinstance(error.__cause__, httpx.HTTPError):
            error.__cause__ = None
        error.__context__ = None
        error.message = redact_text(error.message, self._secrets)
        error.args = (error.message,)
        for name in ("body", "code", "type", "request_id"):
            if isinstance(text := getattr(error, name, None), str):
                setattr(error, name, redact_text(text, self._secrets))
        if isinstance(error, StatusError):
            error.headers = {name: redact_text(value, self._secrets) for name, value in error.headers.items()}

    def _log(self, attempt: Attempt) -> None:
        if not logger.isEnabledFor(logging.INFO):
            return
        url, seconds = redact_text(str(self._endpoint.url), self._secrets), attempt.seconds or 0.0
        if attempt.error is None:
            logger.debug("POST %s: %s in %.3f s, try %d", url, attempt.status, seconds, attempt.number)
        else:
            what = f"next try in {attempt.wait:.2f} s" if attempt.wait is not None else "given up"
            logger.info("POST %s: %s in %.3f s; %s (%s)", url, attempt.error, seconds, what, attempt.rule)
