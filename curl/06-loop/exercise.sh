#!/bin/sh
set -eu
cd "$(dirname "$0")"

echo "With one step only:"
MAX_STEPS=1 sh run.sh

echo "With a tool that fails:"
PROMPT="What is the weather in Atlantis?" sh run.sh
