# Where the requests go. Every script reads this file first.
#
#   AGENTLOOP_BASE_URL   a server, for example https://api.deepseek.com/v1
#   AGENTLOOP_API_KEY    your key, where the server wants one
#   AGENTLOOP_MODEL      a model that the server knows
#
# With nothing set, a mock provider is started on this machine and stopped at the end of the script. It answers by
# rules: no model, no key, no network.

for program in curl jq; do
  command -v "$program" >/dev/null || {
    echo "$program is missing: install it with apt-get install $program, brew install $program, or your own way" >&2
    exit 2
  }
done

WORK=$(mktemp -d) # for files in between
mock=
trap '[ -z "$mock" ] || kill "$mock" 2>/dev/null || :; rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM

if [ -z "${AGENTLOOP_BASE_URL:-}" ]; then
  if [ -f mock.sh ]; then . ./mock.sh; fi # what this step wants of it
  mkfifo "$WORK/mock"
  # shellcheck disable=SC2086 # the options are several words
  "${AGENTLOOP_PYTHON:-../../.venv/bin/python}" -m agentloop mock ${MOCK_OPTIONS:-} >"$WORK/mock" 2>/dev/null &
  mock=$!
  exec 9<"$WORK/mock" # stays open, or the mock could not write to it
  read -r line <&9 || {
    echo "the mock provider is not set up: run 'make curl' once, or set AGENTLOOP_BASE_URL and AGENTLOOP_MODEL" >&2
    exit 2
  }
  AGENTLOOP_BASE_URL=${line#base URL: } # its first line is "base URL: http://127.0.0.1:PORT/v1"
  AGENTLOOP_MODEL=agentloop-mock-rules
  export AGENTLOOP_BASE_URL AGENTLOOP_MODEL
fi

BASE_URL=$AGENTLOOP_BASE_URL
API_KEY=${AGENTLOOP_API_KEY:-no-key}
MODEL=${AGENTLOOP_MODEL:?set it to the name of a model that the server knows}
