#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"
curl -sS "$BASE_URL/chat/completions" \
  -H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json" \
  --data-binary @"$WORK/request.json" >"$WORK/answer.json"
jq -c '.choices[0].message.tool_calls[]' "$WORK/answer.json"

# The history grows by the answer and by one result for each call, in the order of the calls.
jq --slurpfile answer "$WORK/answer.json" '
  {"Tokyo": {city: "Tokyo", celsius: 18, sky: "cloudy"}, "Paris": {city: "Paris", celsius: 14, sky: "cloudy"}} as $table
  | ($answer[0].choices[0].message | {role, content, tool_calls}) as $message
  | .messages += [$message]
  | .messages += [$message.tool_calls[] | {
      role: "tool",
      tool_call_id: .id,
      content: ($table[.function.arguments | fromjson | .city] | tojson)
    }]' "$WORK/request.json" |
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  jq -r '.choices[0].message.content'
