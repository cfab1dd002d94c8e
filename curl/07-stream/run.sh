#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"
curl -sS -N "$BASE_URL/chat/completions" \
  -H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json" \
  --data-binary @"$WORK/request.json" |
  tee "$WORK/stream.txt"

echo "The text, put together:"
sed -n 's/^data: {/{/p' "$WORK/stream.txt" | jq -j '.choices[0].delta.content // empty'
echo
