#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

ask() {
  curl -sS "$BASE_URL/responses" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @"$1"
}

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"
ask "$WORK/request.json" >"$WORK/answer.json"
jq '{id, status, output}' "$WORK/answer.json"

# The input grows by the call, and by its output.
jq --slurpfile answer "$WORK/answer.json" '
  ($answer[0].output[] | select(.type == "function_call") | {type, call_id, name, arguments}) as $call
  | .input += [$call, {
      type: "function_call_output",
      call_id: $call.call_id,
      output: "{\"city\":\"Tokyo\",\"celsius\":18,\"sky\":\"cloudy\"}"
    }]' "$WORK/request.json" >"$WORK/next.json"
ask "$WORK/next.json" | jq -r '.output[] | select(.type == "message") | .content[].text'
