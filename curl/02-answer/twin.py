from agentloop import Client

with Client.from_env() as client:
    response = client.respond("Who are you?", max_tokens=300)
print("text:         ", response.text)
print("finish reason:", response.finish_reason)
print("tokens:       ", response.usage.input_tokens, "in,", response.usage.output_tokens, "out")
