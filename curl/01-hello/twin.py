from agentloop import Client

with Client.from_env() as client:
    print(client.respond("Hello!").text)
