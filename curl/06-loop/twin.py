from agentloop import Agent, Client, Limits, ToolError, tool


@tool
def get_weather(city: str) -> dict[str, object]:
    """Tell the current weather of a city."""
    if city != "Tokyo":
        raise ToolError(f"there is no weather station in {city}")
    return {"city": "Tokyo", "celsius": 18, "sky": "cloudy"}


@tool
def convert_temperature(value: float, from_unit: str, to_unit: str) -> dict[str, object]:
    """Convert a temperature between Celsius and Fahrenheit."""
    return {"value": value * 9 / 5 + 32, "unit": to_unit}


with Client.from_env() as client:
    agent = Agent(client, tools=[get_weather, convert_temperature], limits=Limits(max_steps=10))
    print(agent.run("What is the weather in Tokyo, in Fahrenheit?").text)
