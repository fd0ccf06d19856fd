#!/usr/bin/env bash
# Builds limpet.wasm twice, in folders whose names differ, from what is committed, and fails unless both are the same bytes.
set -euo pipefail
root=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for place in a another/and/longer/place; do
	mkdir -p "$work/$place"
	git -C "$root" archive HEAD | tar -x -C "$work/$place"
	make --no-print-directory -C "$work/$place" dist/limpet.wasm
done
first=$(sha256sum <"$work/a/dist/limpet.wasm")
second=$(sha256sum <"$work/another/and/longer/place/dist/limpet.wasm")
if [ "$first" != "$second" ]; then
	echo "limpet.wasm is not reproducible: $first and $second" >&2
	exit 1
fi
echo "limpet.wasm, built twice in different places: SHA-256 ${first%% *}"
