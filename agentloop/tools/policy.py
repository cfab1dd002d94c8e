"""Who decides whether a call runs: the answers a policy may give, and the policies that come with the library."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agentloop.arguments import read_arguments
from agentloop.errors import ConfigError
from agentloop.messages import ToolCall
from agentloop.tools.approval import canonical_arguments
from agentloop.tools.results import error_text
from agentloop.tools.tool import Effects, Risk, Tool

__all__ = [
    "Allow",
    "Decision",
    "Deny",
    "Edit",
    "Policy",
    "ToolRequest",
    "Verdict",
    "allow",
    "decide",
    "deny",
    "edit",
    "read_decision",
    "risk_policy",
]

_RISKS = ("read", "write", "danger")
_log = logging.getLogger("agentloop.tools")


@dataclass(frozen=True, slots=True)
class Allow:
    """The call runs as the model wrote it. `digest` binds the permission to that very call (see `Run.digest`)."""

    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not run; the model is told the reason."""

    reason: str = "the owner does not allow this call"


@dataclass(frozen=True, slots=True)
class Edit:
    """The call runs with these arguments (JSON text); the history keeps what the model wrote."""

    arguments: str
    digest: str | None = None


Decision: TypeAlias = Allow | Deny | Edit
"""What a call that waits is answered with."""

Verdict: TypeAlias = Literal["allow", "ask", "deny"] | Allow | Deny
"""What a policy answers: `ask` leaves the call to a person."""


def allow(digest: str | None = None) -> Allow:
    """A permission, bound to one call by its digest when that is given."""
    return Allow(digest)


def deny(reason: str = "") -> Deny:
    """A refusal, from a policy or a person, with the reason that the model is told."""
    return Deny(reason) if reason else Deny()


def edit(arguments: Mapping[str, Any] | str, digest: str | None = None) -> Edit:
    """A permission with other arguments than the model wrote, as an object or as its JSON text; they are checked
    against the tool's schema as usual. Raises ConfigError for what is not a JSON object."""
    if not isinstance(arguments, str):
        arguments = json.dumps(dict(arguments), ensure_ascii=False)
    read = read_arguments(arguments)
    if read.value is None or read.repair is not None:
        raise ConfigError(f"edit() takes a JSON object, and this is none: {read.error or 'it would need mending'}")
    return Edit(arguments, digest)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call as a policy sees it: `id`, `name` and the raw `arguments` are those of the ToolCall, `parsed` is what the
    tool would get (None when they cannot be read). `name` is the tool's own name, also where the model wrote
    `functions.name`. `risk` is that of this call and `effects` what the tool declares, None for unset. `riskier` tells
    that the call is riskier than its tool declares: a permission for the tool as such was not meant for it."""

    id: str
    name: str
    arguments: str
    parsed: dict[str, Any] | None = field(default=None, compare=False)
    risk: Risk | None = None
    effects: Effects | None = None
    tool: Tool | None = field(default=None, repr=False, compare=False)
    riskier: bool = False

    @staticmethod
    def of(call: ToolCall, tool: Tool | None = None) -> ToolRequest:
        parsed = read_arguments(call.arguments).value
        if tool is None:
            return ToolRequest(call.id, call.name, call.arguments, parsed)
        risk = tool.risk_for(parsed)
        riskier = _RISKS.index(risk or "danger") > _RISKS.index(tool.risk or "danger")
        return ToolRequest(call.id, tool.name, call.arguments, parsed, risk, tool.effects, tool, riskier)

    @property
    def canonical(self) -> str:
        """The arguments as canonical JSON, which patterns are matched with."""
        return canonical_arguments(self.arguments)


Policy: TypeAlias = Callable[[ToolRequest], "Verdict | Awaitable[Verdict]"]


def decide(policy: Policy, request: ToolRequest) -> Decision | Awaitable[Decision | None] | None:
    """The policy's answer, None for `ask`; an awaitable of it when the policy is async.

    A policy that raises has not allowed anything: the call is denied, and the error is logged. Raises ConfigError when
    the answer is none of the words and values of `Verdict`.
    """
    try:
        verdict = policy(request)
    except Exception as error:
        return _failed(request, error)
    return _later(verdict, request) if isinstance(verdict, Awaitable) else _read(verdict)


async def _later(verdict: Awaitable[Verdict], request: ToolRequest) -> Decision | None:
    try:
        answer = await verdict
    except Exception as error:
        return _failed(request, error)
    return _read(answer)


def _failed(request: ToolRequest, error: Exception) -> Deny:
    _log.warning("the policy failed on %s", request.name, exc_info=error)
    return Deny(f"the policy could not decide ({error_text(error)}), so the call was not allowed")


def _read(verdict: object) -> Decision | None:
    if verdict == "ask":
        return None
    if isinstance(verdict, Edit):
        raise ConfigError("a policy allows, denies or asks; only a person's answer to a call may edit it")
    return read_decision(verdict)


def read_decision(value: object) -> Decision:
    """A decision from its word ("allow", "deny") or value. Raises ConfigError for anything else."""
    match value:
        case Allow() | Deny() | Edit():
            return value
        case "allow":
            return Allow()
        case "deny":
            return Deny()
        case _:
            raise ConfigError(f'a decision is "allow", "deny", deny(reason) or edit(arguments), not {value!r}')


def risk_policy(allow: Collection[Risk] = ("read",)) -> Policy:
    """Allow tools of the risks named, ask for all others. A tool that declares no risk counts as danger."""
    allowed = frozenset(allow)

    def policy(request: ToolRequest) -> Verdict:
        return "allow" if (request.risk or "danger") in allowed else "ask"

    return policy
