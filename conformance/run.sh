#!/bin/bash
# Runs Gateway API's own conformance suite, unmodified, on "limpet serve" and a real control plane: all of it, or the tests that are named.
#   KUBERNETES=folder LIMPET=bin/limpet WASM=dist/limpet.wasm ENVOY=path conformance/run.sh [TestShortName,...]
# KUBERNETES has what tools/setup.sh kubernetes builds. It takes a network namespace of its own, for which one must be root: pods and
# Gateways have addresses there. What it leaves is in OUT: report.yaml in upstream's format, report-sessions.yaml beside it.
# With ENVOY_GATEWAY=path it runs the tests of session persistence in rules on Envoy Gateway.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${KUBERNETES:?folder of kube-apiserver and others}" "${LIMPET:?path of limpet}" "${WASM:?path of limpet.wasm}" "${ENVOY:?path of envoy}"
if [ -z "${INSIDE:-}" ]; then
	LIMPET=$(realpath "$LIMPET") WASM=$(realpath "$WASM") ENVOY=$(realpath "$ENVOY") KUBERNETES=$(realpath "$KUBERNETES")
	[ -z "${ENVOY_GATEWAY:-}" ] || { ENVOY_GATEWAY=$(realpath "$ENVOY_GATEWAY") && export ENVOY_GATEWAY; }
	cd "$here"
	: "${OUT:=$(mktemp -d)}"
	mkdir -p "$OUT"
	CRDS=$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)/config/crd/experimental
	go build -o "$OUT/echo" ./testdata/echo
	go build -o "$OUT/report" ./report
	go test -c -o "$OUT/conformance.test" .
	export LIMPET WASM ENVOY KUBERNETES OUT CRDS ECHO=$OUT/echo TESTS="${1:-}" INSIDE=1
	exec unshare -n --kill-child -f "$here/run.sh"
fi
ip link set lo up
ip route add local 10.244.0.0/16 dev lo
plane=$(mktemp -d)
cleanup() {
	for name in kube-scheduler kube-controller-manager kube-apiserver etcd; do
		[ ! -f "$plane/$name.pid" ] || kill -KILL "$(cat "$plane/$name.pid")" 2>/dev/null || true
	done
	rm -rf "$plane"
}
trap cleanup EXIT
start() { # NAME ARGS...
	local name=$1
	shift
	(cd "$plane" && exec "$KUBERNETES/$name" "$@") >"$OUT/$name.log" 2>&1 &
	echo $! >"$plane/$name.pid"
	disown
}
openssl genrsa -out "$plane/sa.key" 2048 2>/dev/null
openssl rsa -in "$plane/sa.key" -pubout -out "$plane/sa.pub" 2>/dev/null
echo 'admin-token,admin,admin,"system:masters"' >"$plane/tokens.csv"
cat >"$plane/kubeconfig" <<K
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:26443", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: admin-token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
K
start etcd --data-dir data --unsafe-no-fsync --listen-client-urls http://127.0.0.1:23791 --advertise-client-urls http://127.0.0.1:23791 \
	--listen-peer-urls http://127.0.0.1:23801 --initial-advertise-peer-urls http://127.0.0.1:23801 --initial-cluster default=http://127.0.0.1:23801
start kube-apiserver --etcd-servers=http://127.0.0.1:23791 --bind-address=127.0.0.1 --secure-port=26443 --cert-dir=certs \
	--service-cluster-ip-range=10.0.0.0/24 --authorization-mode=RBAC --token-auth-file=tokens.csv --service-account-issuer=https://127.0.0.1:26443 \
	--service-account-key-file=sa.pub --service-account-signing-key-file=sa.key --advertise-address=127.0.0.1 --endpoint-reconciler-type=none
for _ in $(seq 240); do
	! curl -skf -H 'Authorization: Bearer admin-token' https://127.0.0.1:26443/readyz >/dev/null || break
	sleep 0.25
done
start kube-controller-manager --kubeconfig kubeconfig --service-account-private-key-file=sa.key --leader-elect=false \
	--controllers='*,-nodeipam,-nodelifecycle,-route,-cloud-node-lifecycle' --bind-address=127.0.0.1
start kube-scheduler --kubeconfig kubeconfig --leader-elect=false --bind-address=127.0.0.1
cd "$here"
test=TestConformance known=not-passed.txt
[ -z "${ENVOY_GATEWAY:-}" ] || test=TestEnvoyGateway known=not-passed-envoy-gateway.txt
CLUSTER=$plane/kubeconfig go tool test2json -t -p conformance "$OUT/conformance.test" -test.v=test2json -test.run "^$test\$" \
	-test.timeout 90m >"$OUT/events.json" || true
"$OUT/report" "$OUT/events.json" "$here/$known"
