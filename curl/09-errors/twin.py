from agentloop import Client
from agentloop.errors import AuthError, RequestRejected

try:
    with Client.from_env(api_key="wrong-key") as client:
        client.respond("Hello!")
except AuthError as error:
    print("A wrong key: ", error.message)

with Client.from_env() as client:
    try:
        orphan = [{"role": "tool", "tool_call_id": "call_1", "content": "18"}]
        client.respond("ignored", extra_body={"messages": orphan})  # the client itself would not send this
    except RequestRejected as error:
        print("A wrong body:", error.message)
    response = client.respond("Hello!")
    for attempt in response.attempts:
        print(f"Try {attempt.number}:       ", attempt.status, attempt.error or response.text)
