from agentloop import Client, tool


@tool
def get_weather(city: str) -> dict[str, object]:
    """Tell the current weather of a city."""
    return {"city": city, "celsius": 18, "sky": "cloudy"}


with Client.from_env() as client:
    response = client.respond("What is the weather in Tokyo?", tools=[get_weather])
for call in response.tool_calls:
    print(call.id, call.name, call.arguments)
