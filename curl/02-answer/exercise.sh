#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

jq --arg model "$MODEL" '.model = $model | .max_tokens = 5' request.json |
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  jq -r '
    "text:          \(.choices[0].message.content)",
    "finish reason: \(.choices[0].finish_reason)",
    "tokens:        \(.usage.prompt_tokens) in, \(.usage.completion_tokens) out"'
