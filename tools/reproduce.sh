#!/usr/bin/env bash
# Builds limpet.wasm twice, from copies of the working tree in folders of different names and depths, each with fresh caches of
# Go and TinyGo, and compares the two, and dist/limpet.wasm with them if it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
tinygo=$(tools/setup.sh tinygo)
modules=$(go env GOMODCACHE) # its content is held by go.sum
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# build FOLDER NAME builds in a folder below $work, and prints the module's SHA-256.
build() {
	local tree=$work/$1 home=$work/home-$2
	mkdir -p "$tree" "$home/tmp"
	git ls-files -z --cached --others --exclude-standard -- go.mod go.sum Makefile filter policy-config token internal tools |
		xargs -0 tar -cf - --ignore-failed-read | tar -xf - -C "$tree"
	env -i PATH="$PATH" HOME="$home" TMPDIR="$home/tmp" GOCACHE="$home/go" XDG_CACHE_HOME="$home/cache" GOMODCACHE="$modules" \
		GOFLAGS=-mod=readonly GOPROXY=off TZ="$3" LANG=C \
		"$tree/tools/step.sh" "building limpet.wasm in a ${#tree} characters long path" \
		sh -c 'cd "$1" && "$2" build -target tools/limpet-wasm.json -opt=2 -no-debug -panic=trap -o limpet.wasm ./filter' sh "$tree" "$tinygo"
	sha256sum <"$tree/limpet.wasm" | cut -d' ' -f1
}

first=$(build a one UTC)
second=$(build some/folder/that/is/deeper/and/has/a/longer/name two Asia/Kathmandu)
[ "$first" = "$second" ] || { echo "reproduce: two builds of limpet.wasm differ: $first and $second" >&2; exit 1; }
if [ -e dist/limpet.wasm ] && [ "$(sha256sum <dist/limpet.wasm | cut -d' ' -f1)" != "$first" ]; then
	echo "reproduce: dist/limpet.wasm is not what the working tree gives, which is $first: run 'make build' and try again" >&2
	exit 1
fi
echo "limpet.wasm is $first, in both places"
