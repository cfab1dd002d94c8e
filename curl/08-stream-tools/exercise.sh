#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

jq --arg model "$MODEL" '.model = $model | .parallel_tool_calls = false' request.json |
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  sed -n 's/^data: {/{/p' | jq -c '.choices[0] | select(.) | [.delta.tool_calls, .finish_reason]'
