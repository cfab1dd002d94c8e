"""Watching runs for a trace: what each part of a run does, as a line of the file (see `trace_file.py`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, cast

from agentloop.cli.trace_file import TraceWriter
from agentloop.errors import ModelError
from agentloop.http.secrets import redact_headers, redact_url
from agentloop.loop.result import RunEvent, RunResult
from agentloop.messages import ToolCall, ToolMessage, ToolResult
from agentloop.model import Attempt, Model, ModelEvent, ModelRequest, ModelResponse, Usage
from agentloop.testing.bodies import Chunk, body_to_dict
from agentloop.testing.player import recorded_request
from agentloop.testing.scrubbing import keys_in
from agentloop.tools.policy import Decision, Deny, Edit, Verdict
from agentloop.wire.headers import kept_headers

if TYPE_CHECKING:
    from agentloop.http.client import Client
    from agentloop.loop.run import Run
    from agentloop.tools.tool import Tool

__all__ = ["Trace"]


class Trace:
    """Writes the runs of one command, one after another. Times are by the writer's clock."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        self._clock = writer.clock
        self._runs = 0
        self._run_began = 0.0
        self._step = 0
        self._announced = False
        """Whether a step has said that it asks the model; a summary does not say so."""
        self._purpose: Literal["step", "summary"] = "step"
        self._requests = 0
        self._attempt = 0
        self._pending: int | None = None
        """The request whose attempt has not ended; an attempt may end without one, when no connection was free."""
        self._sent = 0.0
        self._first_byte: float | None = None
        self._tools_began: dict[str, float] = {}

    def watch(self, client: Client) -> Model:
        """The client as a model whose calls, and each request of them, are written. Its keys are hidden from now on."""
        self._writer.hide(keys_in(recorded_request(client.build_request("."))))
        cast("Any", client).transport = _TracedTransport(client.transport, self)
        return _TracedModel(client, self)

    def run_started(self, run: Run, model: Model, tools: Sequence[Tool]) -> None:
        self._runs += 1
        self._step = 0
        self._run_began = self._clock()
        self._writer.write(
            "run_started",
            run=self._runs,
            provider=model.provider,
            model=model.model,
            ask=run.messages[-1].text,
            messages=len(run.messages),
            instructions=run.spec.instructions,
            limits={name: bound for name, bound in asdict(run.spec.limits).items() if bound is not None},
            tools=[{"name": tool.name, "risk": tool.risk, "effects": tool.effects} for tool in tools],
        )

    def run_finished(self, result: RunResult) -> None:
        error = result.error
        self._writer.write(
            "run_finished",
            run=self._runs,
            status=result.status,
            text=result.text,
            steps=result.steps,
            usage=_usage(result.usage),
            seconds=self._since(self._run_began),
            error=None if error is None else {"type": type(error).__name__, "message": str(error)},
        )

    def see(self, event: RunEvent) -> None:
        """Write an event of the run; deltas are no lines, and what the model does is seen where it is asked."""
        write = self._writer.write
        match event.type:
            case "step_started":
                self._step, self._announced = event.step, True
                write(event.type, step=event.step)
            case "tool_started":
                self._tools_began[event.call.id] = self._clock()
                write(event.type, id=event.call.id, name=event.call.name, arguments=event.call.arguments)
            case "tool_finished":
                self._tool_finished(event.call, event.result)
            case "repaired":
                write(event.type, repairs=[str(repair) for repair in event.repairs])
            case "trimmed":
                cut = asdict(event.cut) | {"left": None, "messages": len(event.cut.left)}
                write(event.type, **cut)
            case "warning":
                write(event.type, text=event.text)
            case _:
                pass

    def progress(self, call: ToolCall, text: str) -> None:
        self._writer.write("tool_progress", id=call.id, text=text)

    def decided(self, call_id: str, name: str, decision: Verdict | Decision, by: str) -> None:
        """Write what the policy, or a person, said of a call."""
        word = decision if isinstance(decision, str) else type(decision).__name__.lower()
        reason = decision.reason if isinstance(decision, Deny) else None
        arguments = decision.arguments if isinstance(decision, Edit) else None
        self._writer.write("decision", id=call_id, name=name, decision=word, by=by, reason=reason, arguments=arguments)

    def _tool_finished(self, call: ToolCall, result: ToolResult) -> None:
        began = self._tools_began.pop(call.id, None)
        told = ToolMessage(call.id, result.content, result.is_error, result.kind).to_dict()
        self._writer.write(
            "tool_finished",
            id=call.id,
            name=call.name,
            seconds=None if began is None else self._since(began),
            content=told["content"],
            is_error=result.is_error or None,
            kind=result.kind,
        )

    # --- a model call ---------------------------------------------------------------------------------------------

    def call_started(self) -> None:
        self._purpose = "step" if self._announced else "summary"
        self._announced = False
        self._attempt = 0
        self._pending = None

    def request_sent(self, request: Any) -> int:
        """Write an httpx request; gives its number."""
        self._requests += 1
        self._attempt += 1
        self._pending, self._sent, self._first_byte = self._requests, self._clock(), None
        keys = keys_in(recorded_request(request))
        self._writer.hide(keys)
        content: bytes = request.content
        self._writer.write(
            "request",
            request=self._requests,
            step=self._step,
            purpose=self._purpose,
            attempt=self._attempt,
            method=request.method,
            url=redact_url(request.url, keys),
            headers=redact_headers(request.headers.multi_items(), keys),
            size=len(content),
            **body_to_dict((Chunk(content),), {"content-type": request.headers.get("content-type", "")}),
        )
        return self._requests

    def response_started(self, number: int, response: Any) -> None:
        self._first_byte = self._since(self._sent)
        self._writer.write(
            "response_started",
            request=number,
            status=response.status_code,
            seconds=self._first_byte,
            headers=kept_headers(response.headers),
        )

    def content_began(self) -> float:
        """Seconds since the request was sent."""
        return self._since(self._sent)

    def attempt_ended(self, attempt: Attempt) -> None:
        number, self._pending = self._pending, None
        self._writer.write(
            "attempt",
            request=number,
            attempt=attempt.number,
            seconds=_rounded(attempt.seconds),
            status=attempt.status,
            error=attempt.error,
            rule=attempt.rule or None,
            wait=_rounded(attempt.wait),
            safe=attempt.safe or None,
        )

    def responded(self, response: ModelResponse, first_content: float | None) -> None:
        self._writer.write(
            "response",
            request=self._requests,
            model=response.model,
            seconds=_rounded(response.attempts[-1].seconds) if response.attempts else None,
            first_byte=self._first_byte,
            first_content=first_content,
            finish_reason=response.finish_reason,
            raw_finish_reason=response.raw_finish_reason,
            usage=_usage(response.usage),
            request_id=response.request_id,
            message=response.message.to_dict(),
            notes=list(response.notes) or None,
        )

    def _since(self, began: float) -> float:
        return round(self._clock() - began, 6)


class _TracedModel:
    """A model whose calls are written: how each attempt ended, and the reply."""

    def __init__(self, inner: Model, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    @property
    def provider(self) -> str:
        return self._inner.provider

    @property
    def model(self) -> str:
        return self._inner.model

    def events(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        trace, told = self._trace, 0
        first_content: float | None = None
        trace.call_started()
        try:
            with closing(self._inner.events(request)) as events:
                for event in events:
                    if event.type == "attempt_failed":
                        trace.attempt_ended(event.attempt)
                        told += 1
                    elif event.type == "response_done":
                        self._finish(event.response.attempts[told:])
                        trace.responded(event.response, first_content)
                    elif first_content is None:
                        first_content = trace.content_began()
                    yield event
        except ModelError as error:
            self._finish(error.attempts[told:])
            raise

    def _finish(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            self._trace.attempt_ended(attempt)


class _TracedTransport:
    """Writes each request on its way to the transport `inner`, and when its response begins."""

    def __init__(self, inner: Any, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    def handle_request(self, request: Any) -> Any:
        number = self._trace.request_sent(request)
        response = self._inner.handle_request(request)
        self._trace.response_started(number, response)
        return response

    def close(self) -> None:
        self._inner.close()


def _usage(usage: Usage) -> dict[str, Any]:
    return {name: value for name, value in asdict(usage).items() if value is not None}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
