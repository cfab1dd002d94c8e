from agentloop import AssistantMessage, Client, ToolCall, ToolMessage, UserMessage, tool


@tool
def get_weather(city: str) -> dict[str, object]:
    """Tell the current weather of a city."""
    return {"city": city, "celsius": 18, "sky": "cloudy"}


history = [
    UserMessage("What is the weather in Tokyo?"),
    AssistantMessage(tool_calls=(ToolCall("call_1", "get_weather", '{"city": "Tokyo"}'),)),
    ToolMessage("call_1", '{"city":"Tokyo","celsius":18,"sky":"cloudy"}'),
]
with Client.from_env() as client:
    print(client.respond(history, tools=[get_weather]).text)
