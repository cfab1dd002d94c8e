#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

# An output whose call is not in the input.
jq --arg model "$MODEL" '
  .model = $model
  | .input += [{type: "function_call_output", call_id: "call_9", output: "18, cloudy"}]' request.json |
  curl -sS "$BASE_URL/responses" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @- |
  jq .
