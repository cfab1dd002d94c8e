from agentloop import Agent, Client, tool


@tool
def get_weather(city: str) -> dict[str, object]:
    """Tell the current weather of a city."""
    return {"city": city, "celsius": 18, "sky": "cloudy"}


with Client.from_env(wire="responses") as client:
    print(Agent(client, tools=[get_weather]).run("What is the weather in Tokyo?").text)
