#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

# The same history without its last message: the call stays unanswered.
jq --arg model "$MODEL" '.model = $model | del(.messages[-1])' request.json |
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  jq .
