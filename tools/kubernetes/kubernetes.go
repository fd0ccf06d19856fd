//go:build tools

// Package kubernetes pins the control plane that e2e/kubernetes runs, built from source by tools/setup.sh.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
