from agentloop import Agent, Client, tool

TABLE = {"Tokyo": (18, "cloudy"), "Paris": (14, "cloudy")}


@tool
def get_weather(city: str) -> dict[str, object]:
    """Tell the current weather of a city."""
    celsius, sky = TABLE[city]
    return {"city": city, "celsius": celsius, "sky": sky}


with Client.from_env() as client:
    result = Agent(client, tools=[get_weather]).run("What is the weather in Tokyo and in Paris?")
for message in result.messages:
    for call in getattr(message, "tool_calls", ()):
        print(call.id, call.name, call.arguments)
print(result.text)
