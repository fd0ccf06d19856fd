#!/bin/bash
# Runs Gateway API's conformance tests on a build of limpet: all, or those that are named.
#   LIMPET=bin/limpet WASM=dist/limpet.wasm ENVOY=path conformance/run.sh [TestShortName,...]
# WAIT (10s) is every timeout of the suite that waits for statuses or answers. What it leaves is in OUT.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${LIMPET:?path of limpet}" "${WASM:?path of limpet.wasm}" "${ENVOY:?path of envoy}"
LIMPET=$(realpath "$LIMPET") WASM=$(realpath "$WASM") ENVOY=$(realpath "$ENVOY")
cd "$here"
: "${OUT:=$(mktemp -d)}" "${WAIT:=10s}"
CRDS=$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)/config/crd/experimental
ECHO=$OUT/echo
mkdir -p "$OUT"
go build -o "$OUT/echo" ./testdata/echo
go build -o "$OUT/report" ./report
go test -c -o "$OUT/conformance.test" .
export LIMPET WASM ENVOY OUT WAIT CRDS ECHO TESTS="${1:-}"
go tool test2json -t -p conformance "$OUT/conformance.test" -test.v=test2json -test.timeout 90m >"$OUT/events.json" || true
known=$here/not-passed.txt
"$OUT/report" "$OUT/events.json" "$known"
