#!/usr/bin/env bash
# Counts the instructions of a request with the limpet of another tree and with this tree's, in turn, and prints both with their
# quotient: what is left of a difference between two runs of one binary is the measurement's own. Needs valgrind, and ENVOY.
#
#   tools/bench-paired.sh NAME TREE [CELLS]     PAIRS=3 in number; CELLS=limpet/pinned,none/pinned
set -euo pipefail
name=$1 tree=$2 cells=${3:-limpet/pinned,none/pinned}
here=$(cd "$(dirname "$0")/.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# count prints "CELL INSTRUCTIONS" for each cell, by the bench of a tree.
count() {
	if ! (cd "$1" && bin/bench -instructions 400 -warm 2000 -only "$cells") >/dev/null 2>"$log"; then
		tail -n 20 "$log" >&2
		return 1
	fi
	sed -n 's/^bench: \([^ :]*\/[^ :]*\): \([0-9]*\)$/\1 \2/p' "$log"
}

for ((pair = 1; pair <= ${PAIRS:-3}; pair++)); do
	count "$tree" | sed "s/^/old $pair /"
	count "$here" | sed "s/^/new $pair /"
done | awk -v name="$name" -v pairs="${PAIRS:-3}" '
	{ if (!($3 in seen)) { seen[$3] = 1; cell[++cells] = $3 } of[$1, $2, $3] = $4; counted++ }
	END {
		if (!counted || counted != 2 * pairs * cells) { print "bench-paired: some cells were not counted" > "/dev/stderr"; exit 1 }
		printf "| request | pair | %s | this tree | quotient |\n|---|---:|---:|---:|---:|\n", name
		for (c = 1; c <= cells; c++) for (p = 1; p <= pairs; p++)
			printf "| %s | %d | %d | %d | %.3f |\n", cell[c], p, of["old", p, cell[c]], of["new", p, cell[c]],
				of["new", p, cell[c]] / of["old", p, cell[c]]
	}'
