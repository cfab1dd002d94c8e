#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

ask() {
  curl -sS "$BASE_URL/messages" \
    -H "x-api-key: $API_KEY" \
    -H "anthropic-version: 2023-06-01" \
    -H "Content-Type: application/json" \
    --data-binary @"$1"
}

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"
ask "$WORK/request.json" >"$WORK/answer.json"
jq . "$WORK/answer.json"

# The messages grow by the answer's content as it is, and by a user message with the result.
jq --slurpfile answer "$WORK/answer.json" '
  $answer[0].content as $content
  | ($content[] | select(.type == "tool_use")) as $call
  | .messages += [
      {role: "assistant", content: $content},
      {role: "user", content: [{
        type: "tool_result",
        tool_use_id: $call.id,
        content: "{\"city\":\"Tokyo\",\"celsius\":18,\"sky\":\"cloudy\"}"
      }]}
    ]' "$WORK/request.json" >"$WORK/next.json"
ask "$WORK/next.json" | jq -r '.content[].text'
