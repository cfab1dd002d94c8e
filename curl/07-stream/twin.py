from agentloop import Client

with Client.from_env() as client, client.stream("What is the weather in Tokyo?") as events:
    for event in events:
        if event.type == "text_delta":
            print(event.text, end="", flush=True)
print()
