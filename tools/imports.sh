#!/usr/bin/env bash
# Holds the import directions: filter -> policy-config, token; compiler -> policy-config; the two never meet; emitters
# read ir; what TinyGo builds stays free of packages that would bloat or break limpet.wasm; and a first build of limpet
# compiles no more than it needs.
set -euo pipefail
module=github.com/limpet-proxy/limpet
status=0

# Filter, token and policy-config are looked at as TinyGo sees them.
deps() {
	case $1 in
	./compiler/* | ./internal/* | ./cmd/*) go list -deps "$1" ;;
	./filter/native) GOOS=linux go list -tags limpet.native -deps "$1" ;;
	*) GOOS=wasip1 GOARCH=wasm go list -tags tinygo,tinygo.wasm -deps "$1" | grep -vx "$module/${1#./}" ;;
	esac
}

forbid() { # forbid PACKAGES PATTERN REASON
	local found
	found=$(deps "$1")
	if found=$(grep -E "$2" <<<"$found"); then
		printf 'imports: %s must not import %s: %s\n' "$1" "$(tr '\n' ' ' <<<"$found")" "$3" >&2
		status=1
	fi
}

allow() { # allow PACKAGES PATTERN REASON: of ours, they import what matches and nothing else
	local found
	found=$(go list -f '{{join .Imports "\n"}}' "$1" | grep "^$module/" | sort -u || true)
	[ -n "$found" ] || return 0 # none at all
	if found=$(grep -Ev "^$module/($2)\$" <<<"$found"); then
		printf 'imports: %s must not import %s: %s\n' "$1" "$(tr '\n' ' ' <<<"$found")" "$3" >&2
		status=1
	fi
}

forbid ./compiler/... "^$module/(filter|cmd|e2e)" "compiler and filter share policy-config only"
forbid ./internal/compiler/... "^$module/(filter|cmd|e2e)" "compiler and filter share policy-config only"
for compiler in ./compiler/... ./internal/compiler/...; do
	forbid $compiler "^$module/internal/(atomicfile|controller|envoyproc|gctune|inputfiles|keyfile|memory|message|serve|xds)" \
		"the compiler is a function of documents: files, processes and messages are the command's"
done
names="policy-config|internal/compiler/(object|report)"
allow ./internal/compiler/ir "$names" "what all targets are written from speaks of no step that made it"
allow ./internal/compiler/emit/... "$names|token|internal/(digest|suggest|compiler/(ir|capability|memo|parallel|emit/(filtermodule|plugin|protoyaml)))" \
	"a target is written from ir, and needs nothing else of the compiler"
allow ./internal/xds "internal/callers" "the xDS server serves bytes, and knows nothing of what made them"
forbid ./filter "^$module/(compiler|cmd|e2e|filter/wasmtest|internal)" "the filter knows nothing of how its config was made"
forbid ./filter "^(net/http|regexp|k8s.io/.*|sigs.k8s.io/.*|google.golang.org/.*)$" "it would swell limpet.wasm"
forbid ./filter/native "^$module/(compiler|cmd|e2e|filter/(wasmtest|internal/(host|nativetest)))" "Envoy is its only host"
forbid ./filter/native "^(net|net/http|regexp|k8s.io/.*|sigs.k8s.io/.*|google.golang.org/.*)$" "it would swell liblimpet.so"
forbid ./cmd/limpet "^k8s.io/client-go/(applyconfigurations|discovery|gentype|informers|kubernetes)(/|\$)" \
	"a first build would compile all groups of Kubernetes: internal/kubernetes/client.go has those that limpet needs"
forbid ./token "^$module/" "token is a library of its own"
forbid ./policy-config "^$module/[^p]" "policy-config imports nothing of ours"

# A first build compiles all of these bytes, most of them generated.
most=39000000
list='{{if not .Standard}}{{$at := .Dir}}{{range .GoFiles}}{{$at}}/{{.}}{{"\n"}}{{end}}{{end}}'
bytes=$(go list -deps -f "$list" ./cmd/limpet | tr '\n' '\0' | xargs -0 cat | wc -c)
if [ "$bytes" -gt $most ]; then
	printf 'imports: ./cmd/limpet compiles %s bytes of packages, more than %s: is what is new worth it?\n' "$bytes" $most >&2
	status=1
fi

# The modules that bring a control plane run limpet as users do.
if found=$(grep -rln "\"$module/" --include='*.go' e2e/istio); then
	printf 'imports: %s must not import limpet: it tests the shipped command\n' "$(tr '\n' ' ' <<<"$found")" >&2
	status=1
fi
exit $status
