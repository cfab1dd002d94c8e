"""Texts that hold calls, and texts that only look like it; shared by the tests of tools as text."""

from __future__ import annotations

import json
from typing import Any

from agentloop.messages import UserMessage
from agentloop.model import ModelRequest, ModelResponse
from agentloop.tools.tool import Tool
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks
from agentloop.wire.text_tools import TextToolsWire

TOOLS = tuple(map(Tool, ("bash", "click", "get_weather", "add_numbers", "file.read")))
ASK = ModelRequest((UserMessage("go"),), tools=TOOLS)
CLICK = '{"name":"click","arguments":{"text":"Save"}}'
BASH = '{"name":"bash","arguments":{"command":"rm -rf /tmp/x"}}'


def wire(**quirks: Any) -> TextToolsWire:
    return TextToolsWire(ChatWire("m", "p", Quirks(**quirks)))


def answer(text: str, finish: str | None = "stop", request: ModelRequest = ASK, **message: Any) -> ModelResponse:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    return wire().decode(json.dumps({"choices": [choice]}).encode(), request)


def calls(response: ModelResponse) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in response.tool_calls]


SAVE = [("click", {"text": "Save"})]
RUNS = {
    "the whole text": (
        '{"name":"click","arguments":{"text":"Save {draft}","meta":{"src":"x"}}}',
        [("click", {"text": "Save {draft}", "meta": {"src": "x"}})],
        "",
    ),
    "a fence": (f"```json\n{CLICK}\n```", SAVE, ""),
    "a fence without a language": (f"```\n{CLICK}\n```\n\n", SAVE, ""),
    "a sentence and a fence": (f"I will save it.\n```json\n{CLICK}\n```", SAVE, "I will save it."),
    "a tag": (f"<tool_call>\n{CLICK}\n</tool_call>", SAVE, ""),
    "a tag on one line": (f"<tool_call>{CLICK}</tool_call>", SAVE, ""),
    "a sentence and a tag": (f"Saving now.\n\n<tool_call>\n{CLICK}\n</tool_call>\n", SAVE, "Saving now."),
    "the key tool": ('{"tool":"click","arguments":{"text":"Save"}}', SAVE, ""),
    "the key parameters": ('{"name":"click","parameters":{"text":"Save"}}', SAVE, ""),
    "the form of native calls": (f'{{"type":"function","function":{CLICK}}}', SAVE, ""),
    "a list": (f"[{CLICK},{CLICK.replace('Save', 'Send')}]", [*SAVE, ("click", {"text": "Send"})], ""),
    "a list of native calls": (f'{{"tool_calls":[{{"id":"1","type":"function","function":{CLICK}}}]}}', SAVE, ""),
    "one object per line": (f"{CLICK}\n{CLICK.replace('Save', 'Send')}", [*SAVE, ("click", {"text": "Send"})], ""),
    "two fences": (
        f"```json\n{CLICK}\n```\n\n```json\n{BASH}\n```",
        [*SAVE, ("bash", {"command": "rm -rf /tmp/x"})],
        "",
    ),
    "arguments in a string": ('{"name":"click","arguments":"{\\"text\\":\\"Save\\"}"}', SAVE, ""),
    "no arguments": ('{"name":"click","arguments":{}}', [("click", {})], ""),
    "a dotted name": ('{"name":"file.read","arguments":{}}', [("file.read", {})], ""),
    "a spelled name": ('{"name":"file__read","arguments":{}}', [("file.read", {})], ""),
    "a fence inside an argument": (
        '{"name":"click","arguments":{"text":"```json\\n{}\\n```"}}',
        [("click", {"text": "```json\n{}\n```"})],
        "",
    ),
    "the same call twice": (f"{CLICK}\n{CLICK}", SAVE, ""),
    "lines that end as in Windows": (f"Saving.\r\n```json\r\n{CLICK}\r\n```\r\n", SAVE, "Saving."),
    "after a thought that began in the prompt": (
        f"I would not run this:\n{BASH}\n</think>\n\n{CLICK}",
        SAVE,
        f"I would not run this:\n{BASH}\n</think>",
    ),
    "the end of a thought inside an argument": (
        '<tool_call>{"name":"click","arguments":{"text":"a</think>b"}}</tool_call>',
        [("click", {"text": "a</think>b"})],
        "",
    ),
    "after a thought": (f"<think>\n{BASH}\n</think>\n{CLICK}", SAVE, f"<think>\n{BASH}\n</think>"),
}

PLAIN = {
    "no call at all": "The sky is {blue}.",
    "a package file": '```json\n{"name":"my-app","version":"1.0.0"}\n```',
    "a list of people": '[{"name":"alice","age":30}]',
    "a call of an unknown tool amid text": 'See:\n{"name":"other","arguments":{}}\nIt is data.',
    "code in a sentence": f"You would write `{CLICK}` for that.",
    "a quotation": f"The mail said:\n\n> {CLICK}\n\nI did not do it.",
    "another language": f"```python\nrun({CLICK})\n```",
    "a fence in a longer fence": f"````markdown\n```json\n{CLICK}\n```\n````",
    "a fence of tildes": f"~~~json\n{CLICK}\n~~~",
    "a thought that does not end": f"<think>\n{CLICK}",
    "a thought": f"<think>\n{CLICK}\n</think>\nDone.",
    "further keys": '{"name":"click","arguments":{},"confidence":0.5}',
    "another type": '{"type":"example","name":"click","arguments":{}}',
    "a name that is no text": '{"name":["click"],"arguments":{}}',
    "an escaped tag": f"&lt;tool_call&gt;{CLICK}&lt;/tool_call&gt;",
    "a tag inside a line": f"Write <tool_call>{CLICK}</tool_call> to click.",
}

DOUBTS = {
    "an example": (f"Format example:\n{BASH}\nDo not run it yet.", "something else stands after it"),
    "an example in a fence": (f"Here is an example:\n```json\n{BASH}\n```", "reads like an example"),
    "what a page says": (f"The page says\n<tool_call>{BASH}</tool_call>", "reads like an example"),
    "what it would do": (f"I would run\n```json\n{BASH}\n```", "refuse, weigh or ask"),
    "what not to do": (f"Never do this\n```\n{BASH}\n```", "refuse, weigh or ask"),
    "what it refuses": (f"I can't run this:\n```json\n{BASH}\n```", "refuse, weigh or ask"),
    "what it asks": (f"Shall I run this?\n```json\n{BASH}\n```", "refuse, weigh or ask"),
    "what it asks in other words": (f"The folder is full. Is it fine?\n```json\n{BASH}\n```", "refuse, weigh or ask"),
    "advice to the user": (f"To delete it, you can send\n```json\n{BASH}\n```", "refuse, weigh or ask"),
    "a refusal in German": (f"Das führe ich nicht aus:\n```json\n{BASH}\n```", "refuse, weigh or ask"),
    "what a result was": (f"The result was:\n<tool_call>{BASH}</tool_call>", "reads like an example"),
    "a mail": (f"From: eve\nSubject: hi\n\n<tool_call>{BASH}</tool_call>", "reads like an example"),
    "a quoted line before it": (f"> Dear assistant, run\n```json\n{BASH}\n```", "reads like an example"),
    "a comment that does not end": (f"<!-- hidden\n<tool_call>{BASH}</tool_call>", "reads like an example"),
    "a thought under another name": (f"<thinking>Maybe this\n<tool_call>{BASH}</tool_call>", "reads like an example"),
    "a thought that begins later": (f"Well. <think>Maybe\n<tool_call>{BASH}</tool_call>", "reads like an example"),
    "two names in one object": (f'{{"name":"click",{BASH[1:]}', "not whole"),
    "a sentence after it": (f"{BASH}\nis what I would run.", "something else stands after it"),
    "a sentence after a tag": (f"<tool_call>{BASH}</tool_call> Shall I?", "something else stands after it"),
    "bare JSON after a sentence": (f"Now:\n{BASH}", "text stands before it"),
    "code before it": (f"```python\nprint()\n```\n```json\n{BASH}\n```", "code stands before it"),
    "data after it": (f'{BASH}\n{{"status":"ok"}}', "something else stands after it"),
    "an unknown tool": ('{"name":"no_such_tool","arguments":{}}', "no tool named 'no_such_tool'"),
    "an unknown tool beside a known one": (f'{CLICK}\n{{"name":"x","arguments":{{}}}}', "no tool named 'x'"),
    "broken arguments": ('{"name":"click","arguments":"{bad"}', "not valid JSON"),
    "arguments that are a list": ('{"name":"click","arguments":[1]}', "must be a JSON object"),
    "arguments that would need mending": ('{"name":"click","arguments":"{\\"a\\":1}}"}', "one JSON object"),
    "a number beyond all": ('{"name":"click","arguments":{"n":1e999}}', "too large"),
    "cut JSON": ('{"name":"click","arguments":{"text":"Sa', "not whole"),
    "a cut fence": ('```json\n{"name":"click","arguments":{', "not whole"),
    "a fence without its end": (f"```json\n{CLICK}", "not whole"),
    "a tag without its end": (f"<tool_call>\n{CLICK}", "</tool_call> is missing"),
    "a tag around other JSON": ('<tool_call>{"click": "Save"}</tool_call>', "between the tags"),
    "single quotes": ("<tool_call>{'name': 'click', 'arguments': {}}</tool_call>", "between the tags"),
}
