#!/bin/bash
# Runs Gateway API's own conformance suite, unmodified, on "limpet serve" and a real control plane: all of it, or the tests that are named.
#   KUBERNETES=folder LIMPET=bin/limpet WASM=dist/limpet.wasm ENVOY=path conformance/run.sh [TestShortName,...]
# KUBERNETES has what tools/setup.sh kubernetes builds. One must be root, for pods and Gateways have addresses in a network namespace
# (e2e/cluster). What it leaves is in OUT: report.yaml in upstream's format, report-sessions.yaml beside it.
# With ENVOY_GATEWAY=path it runs the tests of session persistence in rules on Envoy Gateway.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${KUBERNETES:?folder of kube-apiserver and others}" "${LIMPET:?path of limpet}" "${WASM:?path of limpet.wasm}" "${ENVOY:?path of envoy}"
LIMPET=$(realpath "$LIMPET") WASM=$(realpath "$WASM") ENVOY=$(realpath "$ENVOY") KUBERNETES=$(realpath "$KUBERNETES")
test=TestConformance known=not-passed.txt
if [ -n "${ENVOY_GATEWAY:-}" ]; then
	ENVOY_GATEWAY=$(realpath "$ENVOY_GATEWAY") && export ENVOY_GATEWAY
	test=TestEnvoyGateway known=not-passed-envoy-gateway.txt
fi
cd "$here"
: "${OUT:=$(mktemp -d)}"
mkdir -p "$OUT"
CRDS=$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)/config/crd/experimental
go build -C .. -o "$OUT/cluster" ./e2e/cluster
go build -o "$OUT/echo-basic" sigs.k8s.io/gateway-api/conformance/echo-basic
go build -o "$OUT/coredns" ./testdata/dns
go build -o "$OUT/report" ./report
go test -c -o "$OUT/conformance.test" .
export LIMPET WASM ENVOY KUBERNETES OUT CRDS TESTS="${1:-}"
"$OUT/cluster" --image "echo-basic=$OUT/echo-basic" --image "coredns=$OUT/coredns" \
	go tool test2json -t -p conformance "$OUT/conformance.test" -test.v=test2json -test.run "^$test\$" -test.timeout 90m >"$OUT/events.json" || true
"$OUT/report" "$OUT/events.json" "$known"
