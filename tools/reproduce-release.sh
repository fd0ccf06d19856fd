#!/usr/bin/env bash
# Makes a release of HEAD twice, in working trees of different names and depths, and compares every file. ENVOY names the program for the
# image of Envoy; Go's caches are shared, for its own builds are the same wherever they are made (-trimpath), and take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'git worktree remove --force "$work/a" 2>/dev/null; git worktree remove --force "$work/some/deeper/folder" 2>/dev/null; rm -rf "$work"; git worktree prune' EXIT

make_release() { # FOLDER ZONE
	git worktree add -q --detach "$1" HEAD
	cp cmd/limpet/filters/*limpet* "$1/cmd/limpet/filters/"
	(cd "$1" && umask 027 && make --no-print-directory deploy && TZ=$2 go run ./tools/release -version v0.0.1 -out "$1/dist/release")
}

make_release "$work/a" UTC
make_release "$work/some/deeper/folder" Asia/Kathmandu
diff -r "$work/a/dist/release" "$work/some/deeper/folder/dist/release" >&2 || { echo "reproduce-release: the two differ" >&2; exit 1; }
echo "$(wc -l <"$work/a/dist/release/SHA256SUMS") files are equal, in both places"
