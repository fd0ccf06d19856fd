//go:build tools

// Package etcd pins what the API server of e2e/kubernetes keeps its objects in, built from source by tools/setup.sh.
package etcd

import _ "go.etcd.io/etcd/server/v3"
