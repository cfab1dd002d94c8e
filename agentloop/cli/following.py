"""Following a run from its start to its end: events become lines, and calls that wait are decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentloop.cli.approval import Approval
from agentloop.cli.printable import one_line
from agentloop.cli.rendering import call_text, describe_message, lines_of, summary
from agentloop.cli.screen import Line, Screen
from agentloop.loop.result import RunEvent, RunResult
from agentloop.messages import Message, ToolCall
from agentloop.model import ModelRequest

if TYPE_CHECKING:
    from agentloop.agent import Agent
    from agentloop.cli.tracing import Trace
    from agentloop.loop.run import Run

__all__ = ["Follower", "Stepper"]


class Stepper:
    """Pauses before each action: its methods are hooks for an agent, and what they end has not begun."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._sent: Sequence[Message] = ()

    def before_model(self, request: ModelRequest) -> ModelRequest:
        """Show what is new in the request, and wait."""
        known = {id(message) for message in self._sent}
        news = [message for message in request.messages if id(message) not in known]
        if request.instructions and not self._sent:
            self._screen.note(f"  instructions: {request.instructions}")
        self._sent = request.messages
        self._screen.lines(*(Line(f"  sends {describe_message(message)}", "note") for message in news))
        self._wait(f"ask the model ({len(request.messages)} messages, {len(request.tools)} tools)")
        return request

    def before_tool(self, call: ToolCall) -> None:
        """Show the call, and wait. For an agent's `before_tool`."""
        self._wait(f"run {call_text(call)}")

    def _wait(self, action: str) -> None:
        """Raises KeyboardInterrupt when the person does not want to go on."""
        self._screen.lines(Line(f"  next: {action}", "note"))
        answer = self._screen.ask("  Enter goes on, q ends the run: ")
        if answer is None or answer.strip().lower() in ("q", "quit"):
            raise KeyboardInterrupt


class Follower:
    """Shows runs of one command. With `text` the model's text goes to stdout as it comes, and else the answer of a run
    when it has ended; with `quiet` nothing goes to stdout at all. `trace` gets every event."""

    def __init__(
        self,
        screen: Screen,
        approval: Approval,
        *,
        text: bool,
        trace: Trace | None = None,
        quiet: bool = False,
        verbose: bool = False,
    ) -> None:
        self._screen = screen
        self._approval = approval
        self._trace = trace
        self._text = text
        self._quiet = quiet
        self._verbose = verbose

    def follow(self, agent: Agent, run: Run) -> RunResult:
        """Run to the end, whatever it is, and show it. Ctrl-C ends the run as cancelled."""
        try:
            self._drive(agent, run)
        except KeyboardInterrupt:
            if not run.ended:
                run.cancel()
        result = run.result()
        if not self._text and not self._quiet:
            self._screen.answer(result.text)
        self._screen.end_answer()
        self._screen.lines(*summary(result))
        return result

    def progress(self, call: ToolCall, text: str) -> None:
        """Show what a tool reports while it runs; for an agent's `on_progress`."""
        self._screen.lines(Line(f"  {one_line(call.id)} … {one_line(text)}", "note"))
        if self._trace:
            self._trace.progress(call, text)

    def _drive(self, agent: Agent, run: Run) -> None:
        decisions = None
        while not run.ended:
            with agent.stream(run, decisions=decisions, stream=self._text) as events:
                for event in events:
                    self._see(event)
            decisions = self._approval.ask(run.pending) if run.status == "needs_approval" else None

    def _see(self, event: RunEvent) -> None:
        if self._trace:
            self._trace.see(event)
        streamed = self._text and not self._quiet
        if event.type == "text_delta" and streamed:
            self._screen.answer(event.text)
        elif event.type == "response_done":
            self._screen.end_answer()
        self._screen.lines(*lines_of(event, verbose=self._verbose, streamed=streamed))
