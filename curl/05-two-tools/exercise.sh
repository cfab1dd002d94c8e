#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

# Both calls have the id "call_1", and so have both results.
jq --arg model "$MODEL" '
  .model = $model
  | ["{\"city\": \"Tokyo\"}", "{\"city\": \"Paris\"}"] as $arguments
  | .messages += [{
      role: "assistant",
      content: null,
      tool_calls: [$arguments[] | {id: "call_1", type: "function", function: {name: "get_weather", arguments: .}}]
    }]
  | .messages += [range(2) | {role: "tool", tool_call_id: "call_1", content: "18, cloudy"}]' request.json |
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  jq .
