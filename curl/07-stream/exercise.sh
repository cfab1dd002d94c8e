#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

# Without stream_options: what do the last two events look like now?
jq --arg model "$MODEL" '.model = $model | del(.stream_options)' request.json |
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  sed -n '/^data/p' | tail -n 2
