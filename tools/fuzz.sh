#!/usr/bin/env bash
# Runs every fuzz target in the tree for the given time, one after the other, and fails if one of them does; or the one that is
# named, as token/FuzzOpen.
#
# What Go finds that reaches new code is each target's corpus. It is kept in FUZZ_CORPUS, by default below the per-user cache,
# and outlives Go's own, which "go clean -fuzzcache" and a fresh machine empty; times.txt there has how long each target has run.
set -euo pipefail
time=${1:?usage: tools/fuzz.sh TIME [FOLDER/TARGET]}
corpus=${FUZZ_CORPUS:-${LIMPET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/limpet}/fuzz}
cache=$(go env GOCACHE)/fuzz
mkdir -p "$corpus"
# What one target finds, another that takes the same begins with too.
declare -A shared=(
	[FuzzNativeModule]=filter/behaviour/FuzzShippedModule [FuzzNativeOpen]=token/FuzzOpen [FuzzNativeParse]=policy-config/FuzzParse
)

# copy FROM TO adds the files of a folder to another; those that are there, which have the same names, stay.
copy() { [ ! -d "$1" ] || { mkdir -p "$2" && cp -Rn "$1/." "$2/"; }; }

status=0 ran=''
said=$(mktemp)
trap 'rm -f "$said"' EXIT
while IFS=: read -r file target; do
	folder=$(dirname "${file#./}")
	[ -z "${2:-}" ] || [ "$2" = "$folder/$target" ] || continue
	ran=yes
	package=$(go list "$(dirname "$file")")
	echo "== $(dirname "$file") $target"
	copy "$corpus/$package/$target" "$cache/$package/$target"
	if [ "${shared[$target]:-}" ]; then copy "$corpus/$(go list -m)/${shared[$target]}" "$cache/$package/$target"; fi
	go test "$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" 2>&1 | tee "$said" || status=1
	copy "$cache/$package/$target" "$corpus/$package/$target"
	printf '%s %s %s %s\n' "$(date -u +%F)" "$(dirname "$file")" "$target" \
		"$(sed -n 's/^fuzz: elapsed: \([^,]*\), execs: \([0-9]*\).*/\1 \2/p' "$said" | tail -n 1)" >>"$corpus/times.txt"
done < <(grep -rn --include='*_test.go' '^func Fuzz' . | sed -n 's/^\([^:]*\):[0-9]*:func \(Fuzz[A-Za-z0-9_]*\).*/\1:\2/p' | sort)
[ -n "$ran" ] || { echo "fuzz: there is no target $2" >&2; exit 2; }
exit $status
