#!/bin/sh
set -eu
cd "$(dirname "$0")"

# A server that stays overloaded. On a provider of your own this does not happen on demand.
export MOCK_OPTIONS='--require-key mock-key --fault ok,times=2;then=status=503,retry-after=1'
sh run.sh
