"""A policy from a small TOML file, for owners who do not program.

    default = "ask"                     # what holds when no rule matches: allow, ask or deny

    [[rule]]                            # the first rule that matches decides
    decide = "deny"
    tool = ["shell", "write_*"]         # names, * and ? allowed; without it the rule is for all tools
    arguments = '"path":"/etc'          # a regular expression on the canonical arguments
    reason = "system files are not for you"

    [[rule]]
    decide = "allow"
    risk = "read"                       # read, write or danger; a tool that declares no risk counts as danger

All conditions of a rule must hold. Patterns see the arguments as JSON with sorted keys and without blanks. They lean to
the safe side: for `allow` the pattern must match the whole text, for `ask` and `deny` it is enough that it occurs.
A call may be riskier than its tool declares, such as the writing of a file that runs by itself. For such a call `allow`
counts only in a rule that names the risk, and the default `allow` asks.
A file is read only when it is named; nothing is picked up from the working directory.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from agentloop.errors import ConfigError
from agentloop.tools.policy import Deny, ToolRequest

__all__ = ["Explanation", "Rule", "TomlPolicy"]

_Answer: TypeAlias = Literal["allow", "ask"] | Deny

_WORDS = ("allow", "ask", "deny")
_RISKS = ("read", "write", "danger")
_KEYS = {"decide", "tool", "risk", "arguments", "reason"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Empty `tools` or `risks`, and a `pattern` of None, do not restrict it."""

    decide: str
    tools: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    reason: str = ""

    def matches(self, request: ToolRequest) -> bool:
        if request.riskier and self.decide == "allow" and not self.risks:
            return False
        if self.tools and not any(fnmatch.fnmatchcase(request.name, name) for name in self.tools):
            return False
        if self.risks and (request.risk or "danger") not in self.risks:
            return False
        if self.pattern is None:
            return True
        find = self.pattern.fullmatch if self.decide == "allow" else self.pattern.search
        return find(request.canonical) is not None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which rule decides, by its number from 1 (None: the default), and what."""

    verdict: _Answer
    rule: int | None

    def __str__(self) -> str:
        word = f"deny ({self.verdict.reason})" if isinstance(self.verdict, Deny) else self.verdict
        return f"{word}: {'no rule matches, so the default holds' if self.rule is None else f'rule {self.rule}'}"


@dataclass(frozen=True, slots=True)
class TomlPolicy:
    """A policy that is a list of rules; call it with a request, or ask it to `explain`."""

    rules: tuple[Rule, ...]
    default: str = "ask"

    @staticmethod
    def load(path: str | os.PathLike[str]) -> TomlPolicy:
        """Raises ConfigError for a file that is missing, is not TOML, or holds anything that is not understood: a rule
        that was meant and does nothing is worse than none."""
        import tomllib

        try:
            text = Path(path).read_text("utf-8")
            content = tomllib.loads(text)
        except (OSError, ValueError) as error:
            raise ConfigError(f"the policy file {os.fspath(path)} cannot be read: {error}") from error
        try:
            return TomlPolicy.from_dict(content)
        except ConfigError as error:
            raise ConfigError(f"{os.fspath(path)}: {error}") from error

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> TomlPolicy:
        """From the content of such a file. Raises ConfigError as `load` does."""
        unknown = content.keys() - {"default", "rule"}
        if unknown:
            raise ConfigError(f"unknown key {sorted(unknown)[0]!r}: a policy has default and [[rule]]")
        default = _one_of(content.get("default", "ask"), _WORDS, "default")
        rules = content.get("rule", [])
        if not isinstance(rules, list):
            raise ConfigError("rules are written [[rule]], with two brackets")
        return TomlPolicy(tuple(_rule(n, rule) for n, rule in enumerate(cast("list[Any]", rules), 1)), default)

    def __call__(self, request: ToolRequest) -> _Answer:
        return self.explain(request).verdict

    def explain(self, request: ToolRequest) -> Explanation:
        """The verdict on `request`, and the rule that gave it."""
        for number, rule in enumerate(self.rules, 1):
            if rule.matches(request):
                return Explanation(_verdict(rule.decide, rule.reason), number)
        default = "ask" if request.riskier and self.default == "allow" else self.default
        return Explanation(_verdict(default, ""), None)


def _verdict(word: str, reason: str) -> _Answer:
    if word == "deny":
        return Deny(reason or "the policy does not allow this call")
    return "allow" if word == "allow" else "ask"


def _rule(number: int, value: Any) -> Rule:
    where = f"rule {number}"
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: rules are written [[rule]], with two brackets")
    rule = cast("dict[str, Any]", value)
    unknown = rule.keys() - _KEYS
    if unknown:
        raise ConfigError(f"{where}: unknown key {sorted(unknown)[0]!r}; a rule has {', '.join(sorted(_KEYS))}")
    decide = _one_of(rule.get("decide"), _WORDS, f"{where}: decide")
    risks = tuple(_one_of(risk, _RISKS, f"{where}: risk") for risk in _texts(rule, "risk", where))
    reason = rule.get("reason", "")
    if not isinstance(reason, str) or (reason and decide != "deny"):
        raise ConfigError(f"{where}: reason is a text, for deny only")
    return Rule(decide, _texts(rule, "tool", where), risks, _pattern(rule, where), reason)


def _pattern(rule: Mapping[str, Any], where: str) -> re.Pattern[str] | None:
    text = rule.get("arguments")
    if text is None:
        return None
    try:
        return re.compile(text, re.DOTALL)
    except (re.error, TypeError) as error:
        raise ConfigError(f"{where}: arguments is not a regular expression: {error}") from error


def _texts(rule: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value: Any = rule.get(key)
    if value is None:
        return ()
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str) and item for item in items):
        raise ConfigError(f"{where}: {key} is a text or a list of texts")
    return tuple(items)


def _one_of(value: Any, words: tuple[str, ...], where: str) -> str:
    if value not in words:
        raise ConfigError(f"{where} must be {', '.join(words[:-1])} or {words[-1]}, not {value!r}")
    return value
