#!/bin/sh
# Run the Python twin of a step with the same settings: sh twin.sh 01-hello
set -eu
cd "$(dirname "$0")/${1:?name a step, such as 01-hello}"
. ../settings.sh

"${AGENTLOOP_PYTHON:-../../.venv/bin/python}" twin.py
