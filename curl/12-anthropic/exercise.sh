#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

# max_tokens is left out.
jq --arg model "$MODEL" '.model = $model | del(.max_tokens)' request.json |
  curl -sS "$BASE_URL/messages" \
    -H "x-api-key: $API_KEY" \
    -H "anthropic-version: 2023-06-01" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  jq .
