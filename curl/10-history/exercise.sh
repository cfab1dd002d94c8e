#!/bin/sh
set -eu
cd "$(dirname "$0")"

echo "Nothing is left out:"
KEEP=99 sh run.sh
