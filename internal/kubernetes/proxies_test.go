package kubernetes

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/proxies"
)

// newOwned is a Service that says that the Gateway of UID "edge" is its owner.
func newOwned(namespace, address string) *unstructured.Unstructured {
	is := true
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"clusterIP": address},
	}}
	o.SetNamespace(namespace)
	o.SetName("edge-limpet")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: "edge", UID: "edge", Controller: &is}})
	return o
}

// TestAccountOfProxies: a Gateway's proxies run as a service account that is there already only if that says so.
func TestAccountOfProxies(t *testing.T) {
	p := NewProxies(NewSource(nil, nil), nil)
	labelled := object{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "envoys"}}
	if err := p.accounts.Add(&labelled); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ namespace, account, want string }{
		"its own":              {"shop", "", ""},
		"one with the label":   {"shop", "envoys", ""},
		"one without":          {"shop", "admin", "ServiceAccount shop/admin has no label limpet.dev/proxy-service-account"},
		"of another namespace": {"evil", "envoys", "ServiceAccount evil/envoys has no label"},
		"a path":               {"evil", "../shop/envoys", "ServiceAccount evil/../shop/envoys has no label"},
	} {
		g := &managedGateway{Gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{
			Namespace: c.namespace, Name: "edge", Annotations: map[string]string{proxies.AccountKey: c.account},
		}}}
		err := p.checkAccount(g)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// TestObjectsElsewhereAreNotOwned: any object can name any owner, and one of another namespace is not believed.
func TestObjectsElsewhereAreNotOwned(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for namespace, address := range map[string]string{"a": "10.0.0.1", "shop": "10.0.0.2", "z": "10.0.0.3"} {
		if err := store.Add(newOwned(namespace, address)); err != nil {
			t.Fatal(err)
		}
	}
	p := &Proxies{stores: map[schema.GroupVersionKind]cache.Indexer{{Version: "v1", Kind: "Service"}: store}}
	g := &managedGateway{Gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "edge"}}}
	owned := p.listOwned(g)
	if service := owned.findService("edge-limpet"); service == nil || service.Spec.ClusterIP != "10.0.0.2" {
		t.Errorf("found %v", service)
	}
	if len(owned) != 1 || owned["Service/edge-limpet"].GetNamespace() != "shop" {
		t.Errorf("owned are %v", owned)
	}
}
