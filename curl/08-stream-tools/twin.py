from agentloop import Client, tool


@tool
def get_weather(city: str) -> dict[str, object]:
    """Tell the current weather of a city."""
    return {"city": city, "celsius": 18, "sky": "cloudy"}


with (
    Client.from_env() as client,
    client.stream("What is the weather in Tokyo and in Paris?", tools=[get_weather]) as events,
):
    for event in events:
        if event.type == "tool_call_delta":
            print(event.call_index, event.id, event.name, event.arguments)
        elif event.type == "response_done":
            print(event.response.tool_calls)
