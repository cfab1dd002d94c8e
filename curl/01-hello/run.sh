#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

jq --arg model "$MODEL" '.model = $model' request.json |
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  jq .
