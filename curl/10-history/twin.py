import json
from pathlib import Path

from agentloop import Agent, Client, Session
from agentloop.history import KeepLast

questions = json.loads((Path(__file__).parent / "questions.json").read_text("utf-8"))
with Client.from_env() as client:
    session = Session(Agent(client, instructions="Be brief.", trim=KeepLast(3)))
    for question in questions:
        result = session.run(question)
        print(f"history {len(session.messages)}, {result.usage.input_tokens} tokens: {result.text}")
