#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/good.json"
jq '.messages = [{role: "tool", tool_call_id: "call_1", content: "18"}]' "$WORK/good.json" >"$WORK/bad.json"

ask() { # $1: the key, $2: the body; the status goes to stdout, headers and answer to files
  curl -sS "$BASE_URL/chat/completions" \
    -H "Authorization: Bearer $1" \
    -H "Content-Type: application/json" \
    --data-binary @"$2" \
    -D "$WORK/headers.txt" -o "$WORK/answer.json" -w '%{http_code}'
}

printf 'A wrong key:   %s %s\n' "$(ask wrong-key "$WORK/good.json")" "$(jq -r '.error.message' "$WORK/answer.json")"
printf 'A wrong body:  %s %s\n' "$(ask "$API_KEY" "$WORK/bad.json")" "$(jq -r '.error.message' "$WORK/answer.json")"

for try in 1 2 3; do
  status=$(ask "$API_KEY" "$WORK/good.json")
  case $status in
    200)
      printf 'Try %s:         200 %s\n' "$try" "$(jq -r '.choices[0].message.content' "$WORK/answer.json")"
      exit
      ;;
    429 | 5??)
      seconds=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]*\).*/\1/p' "$WORK/headers.txt")
      echo "Try $try:         $status, asks to wait ${seconds:-2} s"
      sleep "${seconds:-2}"
      ;;
    *) break ;; # sending it again would not help
  esac
done
echo "given up: $status"
