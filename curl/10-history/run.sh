#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

KEEP=${KEEP:-3} # how many of the last messages are sent; an odd number begins with a question
jq -r '.[]' questions.json >"$WORK/questions.txt"
jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"
echo '[]' >"$WORK/history.json"

while read -r question; do
  jq --arg question "$question" '. + [{role: "user", content: $question}]' "$WORK/history.json" >"$WORK/asked.json"
  jq --slurpfile history "$WORK/asked.json" --argjson keep "$KEEP" \
    '.messages += $history[0][-$keep:]' "$WORK/request.json" >"$WORK/sent.json"
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" \
    --data-binary @"$WORK/sent.json" >"$WORK/answer.json"
  jq --slurpfile answer "$WORK/answer.json" '. + [$answer[0].choices[0].message | {role, content}]' \
    "$WORK/asked.json" >"$WORK/history.json"
  printf 'history %s, sent %s, %s tokens: %s\n' \
    "$(jq length "$WORK/asked.json")" "$(jq '.messages | length' "$WORK/sent.json")" \
    "$(jq .usage.prompt_tokens "$WORK/answer.json")" "$(jq -r '.choices[0].message.content' "$WORK/answer.json")"
done <"$WORK/questions.txt"
