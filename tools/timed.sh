#!/usr/bin/env bash
# Runs a command and says on stderr how long it took, and whether it failed.
#
#   tools/timed.sh COMMAND...
set -uo pipefail
"$@"
code=$?
[ $code = 0 ] && ended="done" || ended="failed"
printf 'time:  %s: %s in %d min %02d s\n' "$*" "$ended" $((SECONDS / 60)) $((SECONDS % 60)) >&2
exit $code
