#!/usr/bin/env bash
# Runs a command that may take minutes: says what is being done, every 15 seconds that it still is, and how long it
# took. Its output is shown only if it fails: the last LINES_SHOWN lines, 30 unless it is set.
#
#   tools/step.sh WHAT COMMAND...
set -euo pipefail
what=$1 started=$SECONDS
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say() { printf 'setup: %s\n' "$*" >&2; }

say "$what ..."
"$@" >"$log" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
told=0
while kill -0 "$pid" 2>/dev/null; do
	sleep 0.2
	elapsed=$((SECONDS - started))
	if ((elapsed >= told + 15)); then
		say "  still at it: $what ($elapsed s)"
		told=$elapsed
	fi
done
if ! wait "$pid"; then
	tail -n "${LINES_SHOWN:-30}" "$log" >&2
	say "failed after $((SECONDS - started)) s: $what"
	exit 1
fi
say "  done in $((SECONDS - started)) s"
