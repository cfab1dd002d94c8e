#!/bin/sh
set -eu
cd "$(dirname "$0")"
. ../settings.sh

get_weather() { # $1: the arguments, as JSON
  city=$(printf '%s' "$1" | jq -r .city)
  case $city in
    Tokyo) printf '%s' '{"city":"Tokyo","celsius":18,"sky":"cloudy"}' ;;
    *) printf '%s' "there is no weather station in $city" ;;
  esac
}
convert_temperature() {
  printf '%s' "$1" | jq -c '{value: (.value * 9 / 5 + 32), unit: .to_unit}'
}
edit() { jq "$@" request.json >next.json && mv next.json request.json; }

jq --arg model "$MODEL" '.model = $model' request.json >"$WORK/request.json"
cd "$WORK"
[ -z "${PROMPT:-}" ] || edit --arg prompt "$PROMPT" '.messages[0].content = $prompt'
step=1
while [ "$step" -le "${MAX_STEPS:-10}" ]; do
  curl -sS "$BASE_URL/chat/completions" -H "Authorization: Bearer $API_KEY" \
    -H "Content-Type: application/json" --data-binary @request.json >answer.json
  jq '.choices[0].message | {role, content, tool_calls}' answer.json >message.json
  edit --slurpfile message message.json '.messages += $message'
  calls=$(jq '.tool_calls | length' message.json)
  [ "$calls" -gt 0 ] || { jq -r .content message.json && exit; }
  call=0
  while [ "$call" -lt "$calls" ]; do
    name=$(jq -r ".tool_calls[$call].function.name" message.json)
    arguments=$(jq -r ".tool_calls[$call].function.arguments" message.json)
    case $name in
      get_weather | convert_temperature) result=$("$name" "$arguments") ;;
      *) result="there is no tool $name" ;;
    esac
    printf 'step %s: %s %s -> %s\n' "$step" "$name" "$arguments" "$result"
    edit --argjson call "$call" --slurpfile message message.json --arg result "$result" \
      '.messages += [{role: "tool", tool_call_id: $message[0].tool_calls[$call].id, content: $result}]'
    call=$((call + 1))
  done
  step=$((step + 1))
done
echo "stopped: the limit of ${MAX_STEPS:-10} is reached"
