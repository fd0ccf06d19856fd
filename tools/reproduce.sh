#!/usr/bin/env bash
# Compares two builds of the filter, limpet.wasm, liblimpet.so and limpet-shard.so for amd64 and arm64: that in dist, if it is all there, and one from
# a copy of the working tree, or two, in folders of different names and depths, with fresh caches of Go and TinyGo.
set -euo pipefail
cd "$(dirname "$0")/.."
tinygo=$(tools/setup.sh tinygo)
modules=$(go env GOMODCACHE) # its content is held by go.sum
files=(dist/limpet.wasm) own=$(go env GOHOSTARCH)
# Without its linker the other architecture's is left out, and said to be.
for arch in amd64 arm64; do
	if [ "$arch" = "$own" ] || tools/setup.sh "cross-$arch" >/dev/null; then files+=("dist/native/$arch/liblimpet.so" "dist/shard/$arch/limpet-shard.so"); else
		echo "reproduce: liblimpet.so for $arch is left out: no tools for it" >&2
	fi
done
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# build FOLDER NAME ZONE builds in a folder below $work, and prints the files' SHA-256.
build() {
	local tree=$work/$1 home=$work/home-$2
	mkdir -p "$tree" "$home/tmp"
	git ls-files -z --cached --others --exclude-standard -- go.mod go.sum Makefile filter policy-config token internal tools |
		xargs -0 tar -cf - --ignore-failed-read | tar -xf - -C "$tree"
	env -i PATH="$PATH" HOME="$home" TMPDIR="$home/tmp" GOCACHE="$home/go" XDG_CACHE_HOME="$home/cache" GOMODCACHE="$modules" \
		GOFLAGS=-mod=readonly GOPROXY=off TZ="$3" LANG=C TINYGO="$tinygo" \
		"$tree/tools/step.sh" "building the filter in a ${#tree} characters long path" \
		make --no-print-directory -C "$tree" WASM_TARGET='-target tools/limpet-wasm.json' "${files[@]}"
	(cd "$tree" && sha256sum "${files[@]}")
}

# What the working tree has is one of the two, if it is all there.
if first=$(sha256sum "${files[@]}" 2>/dev/null); then
	differ="what is in dist is not what the working tree gives, or two builds differ: run 'make build native' and try again"
else
	first=$(build a one UTC) differ="two builds differ"
fi
second=$(build some/folder/that/is/deeper/and/has/a/longer/name two Asia/Kathmandu)
[ "$first" = "$second" ] || { printf 'reproduce: %s:\n%s\n%s\n' "$differ" "$first" "$second" >&2; exit 1; }
while read -r sum file; do echo "$file is $sum, in both places"; done <<<"$first"
