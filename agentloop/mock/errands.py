"""What the stand-in does with the tools of the toolbox, so that they can be tried without a model.

A sum in the question goes to a tool that is called calc, the name of a file to one that reads files, and a question
about a folder to one that lists them. The answer repeats what the tools said.
"""

from __future__ import annotations

import re

from agentloop.mock.conversation import Call, Offer, Question

__all__ = ["errand_answer", "errands"]

_SUM = re.compile(r"\(*\d[\d\s.()]*(?:(?:\*\*|//|[-+*/%])[\s(]*\d[\d.)]*\s*)+")
_FILE = re.compile(r"(?<![^\s'\"`])/?(?:[\w.-]+/)*[\w-]*\.[a-zA-Z]\w+")
_FOLDER = re.compile(r"\b(?:files|folders?|director(?:y|ies)|list|in here)\b", re.IGNORECASE)


def errands(question: Question) -> list[Call]:
    """The calls that the question asks for and that were not made since it was asked."""
    made = [call for turn in question.turns[question.last_user + 1 :] for call in turn.calls]
    return [] if made else _asked_for(question)


def errand_answer(question: Question) -> str | None:
    """What the calls since the question have brought; None when none was an errand."""
    recent = question.turns[question.last_user + 1 :]
    names = {call.id: call.name for turn in recent for call in turn.calls}
    errand_names = {call.name for call in _asked_for(question)}
    told = [
        f"{names[turn.call_id]}: {turn.text}"
        for turn in recent
        if turn.role == "tool" and names.get(turn.call_id) in errand_names
    ]
    return "\n".join(told) or None


def _asked_for(question: Question) -> list[Call]:
    prompt, calls = question.prompt, list[Call]()
    if (calc := _offer(question, "calc")) and (found := _SUM.search(prompt)):
        calls.append(Call.of(calc.name, expression=found[0].strip()))
    reader, lister = _offer(question, "file__read", "file_read"), _offer(question, "file__list", "file_list")
    names = _FILE.findall(prompt)
    if reader:
        calls += [Call.of(reader.name, path=name) for name in dict.fromkeys(names)]
    if lister and not names and _FOLDER.search(prompt):
        calls.append(Call.of(lister.name))
    return calls


def _offer(question: Question, *names: str) -> Offer | None:
    return next((tool for tool in question.tools if tool.name in names), None)
