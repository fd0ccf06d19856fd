#!/bin/bash
# Runs Gateway API's conformance tests on a build of limpet: all, or those that are named.
#   LIMPET=bin/limpet WASM=dist/limpet.wasm ENVOY=path conformance/run.sh [TestShortName,...]
# With ENVOY_GATEWAY=path it runs those of session persistence in rules on Envoy Gateway instead, which takes ports of its own for
# all addresses, so in a network namespace.
# WAIT (10s) is every timeout of the suite that waits for statuses or answers. What it leaves is in OUT.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${LIMPET:?path of limpet}" "${WASM:?path of limpet.wasm}" "${ENVOY:?path of envoy}"
LIMPET=$(realpath "$LIMPET") WASM=$(realpath "$WASM") ENVOY=$(realpath "$ENVOY")
[ -z "${ENVOY_GATEWAY:-}" ] || { ENVOY_GATEWAY=$(realpath "$ENVOY_GATEWAY") && export ENVOY_GATEWAY; }
cd "$here"
: "${OUT:=$(mktemp -d)}" "${WAIT:=10s}"
CRDS=$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)/config/crd/experimental
ECHO=$OUT/echo
mkdir -p "$OUT"
go build -o "$OUT/echo" ./testdata/echo
go build -o "$OUT/report" ./report
go test -c -o "$OUT/conformance.test" .
export LIMPET WASM ENVOY OUT WAIT CRDS ECHO TESTS="${1:-}"
go tool test2json -t -p conformance "$OUT/conformance.test" -test.v=test2json -test.run '^TestConformance$' -test.timeout 90m >"$OUT/events.json" || true
known=$here/not-passed${ENVOY_GATEWAY:+-envoy-gateway}.txt
"$OUT/report" "$OUT/events.json" "$known"
