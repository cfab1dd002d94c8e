#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

ask() {
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @-
}

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"

echo "With a second tool:"
jq '.tools += [{type: "function", function: {name: "get_time", description: "Tell the time in a city."}}]' \
  "$WORK/request.json" | ask | jq -c '.choices[0].message.tool_calls[].function'

echo "With tool_choice none:"
jq '.tool_choice = "none"' "$WORK/request.json" | ask | jq -c '.choices[0].message'
