#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"
curl -sS -N "$BASE_URL/chat/completions" \
  -H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json" \
  --data-binary @"$WORK/request.json" >"$WORK/stream.txt"
sed -n 's/^data: {/{/p' "$WORK/stream.txt" | jq -c '.choices[0].delta.tool_calls // empty'

echo "The calls, put together:"
sed -n 's/^data: {/{/p' "$WORK/stream.txt" |
  jq -s -c '
    [.[].choices[]?.delta.tool_calls[]?] | group_by(.index)[]
    | {id: .[0].id, name: .[0].function.name, arguments: (map(.function.arguments) | add)}'
