package resource

import "github.com/limpet-proxy/limpet/compiler/api/v1alpha1"

// proxyConfigKind is read for nothing but its faults: what it says is about how proxies are run, not about what they
// do.
var proxyConfigKind = newKind(definition[v1alpha1.ProxyConfig]{
	group: v1alpha1.Group, kind: "ProxyConfig", versions: []string{v1alpha1.Version},
})
