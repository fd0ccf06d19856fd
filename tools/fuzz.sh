#!/usr/bin/env bash
# Runs every fuzz target in the tree for the given time, one after the other.
set -euo pipefail
time=${1:?usage: tools/fuzz.sh TIME}
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
		echo "== $(dirname "$file") $target"
		go test "$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
	done
done
