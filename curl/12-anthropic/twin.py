from agentloop import Agent, Client, tool


@tool
def get_weather(city: str) -> dict[str, object]:
    """Tell the current weather of a city."""
    return {"city": city, "celsius": 18, "sky": "cloudy"}


with Client.from_env(wire="anthropic") as client:
    agent = Agent(client, tools=[get_weather], request_options={"max_tokens": 1024})
    print(agent.run("What is the weather in Tokyo?").text)
