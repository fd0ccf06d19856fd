#!/bin/sh
# Rewrites testdata/verdicts.json with what a real kube-apiserver says of the corpus.
# Usage: record.sh FOLDER   (keeps the two programs there; building them takes a quarter of an hour on two cores)
set -eu
kubernetes=1.36.3 etcd=3.6.16
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/apiserver" "$1/etcd" && cd "$1"

if [ ! -x kube-apiserver ]; then
	( # Kubernetes' own modules are published one minor version below zero, and replaced by folders in its go.mod
		cd apiserver
		module=$(cd / && GOFLAGS=-mod=mod go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
		{
			printf 'module record\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n' "$kubernetes"
			sed -n "s|^.*k8s.io/\([a-z-]*\) => ./staging.*|replace k8s.io/\1 => k8s.io/\1 v0.${kubernetes#1.}|p" "$module"
		} >go.mod
		GOFLAGS=-mod=mod go get "k8s.io/kubernetes/cmd/kube-apiserver@v$kubernetes"
		GOFLAGS=-mod=mod CGO_ENABLED=0 nice -n 19 go build -p 1 -trimpath -o ../kube-apiserver \
			-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$kubernetes" k8s.io/kubernetes/cmd/kube-apiserver
	)
fi
if [ ! -x etcd-server ]; then
	(
		cd etcd
		printf 'module record\n\ngo 1.26.0\n' >go.mod
		GOFLAGS=-mod=mod go get "go.etcd.io/etcd/server/v3@v$etcd"
		GOFLAGS=-mod=mod CGO_ENABLED=0 nice -n 19 go build -p 1 -trimpath -ldflags "-s -w" -o ../etcd-server go.etcd.io/etcd/server/v3
	)
fi

rm -rf data certs
mkdir certs
openssl genrsa -out certs/sa.key 2048 2>certs/openssl.log
token=$(openssl rand -hex 16)
echo "$token,recorder,recorder,system:masters" >certs/tokens.csv
./etcd-server --data-dir data --unsafe-no-fsync --log-level error \
	--listen-client-urls http://127.0.0.1:23791 --advertise-client-urls http://127.0.0.1:23791 \
	--listen-peer-urls http://127.0.0.1:23801 --initial-advertise-peer-urls http://127.0.0.1:23801 \
	--initial-cluster default=http://127.0.0.1:23801 >etcd.log 2>&1 &
etcd_pid=$!
./kube-apiserver --etcd-servers=http://127.0.0.1:23791 --bind-address=127.0.0.1 --secure-port=26443 --cert-dir=certs \
	--authorization-mode=AlwaysAllow --token-auth-file=certs/tokens.csv --disable-admission-plugins=ServiceAccount \
	--service-account-issuer=https://127.0.0.1:26443 --service-account-key-file=certs/sa.key \
	--service-account-signing-key-file=certs/sa.key --service-cluster-ip-range=10.0.0.0/24 \
	--advertise-address=127.0.0.1 --endpoint-reconciler-type=none >apiserver.log 2>&1 &
apiserver_pid=$!
# The API server goes first: without etcd it would take minutes to stop.
trap 'kill $apiserver_pid 2>/dev/null; wait $apiserver_pid; kill $etcd_pid 2>/dev/null; wait $etcd_pid' EXIT

tries=0
until curl --silent --insecure --fail --output ready.txt -H "Authorization: Bearer $token" https://127.0.0.1:26443/readyz; do
	tries=$((tries + 1))
	[ "$tries" -lt 120 ] || { echo "the API server does not get ready; see $1/apiserver.log" >&2; exit 1; }
	sleep 1
done
cd "$here"
go test . -count 1 -run TestVerdicts -update -server https://127.0.0.1:26443 -token "$token"
