#!/bin/sh
# All steps one after another: what `make curl` runs.
set -eu
cd "$(dirname "$0")"

for step in [0-9]*; do
  printf '\n== %s ==\n' "$step"
  sh "$step/run.sh"
done
