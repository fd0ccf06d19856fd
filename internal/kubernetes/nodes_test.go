package kubernetes

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// newUnstructured reads an object as an API server sends it.
func newUnstructured(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestHostAddresses: what is kept of Nodes and of Pods on their network is where they are.
func TestHostAddresses(t *testing.T) {
	const node, pod = "{kind: Node, metadata: {name: a}, status: ", "{kind: Pod, metadata: {namespace: shop, name: a}, status: "
	for text, want := range map[string]string{
		node + `{addresses: [{address: a, type: Hostname}, {address: 10.0.0.5, type: InternalIP}]}}`:        "[10.0.0.5]",
		node + `{addresses: [{address: 10.0.0.5, type: InternalIP}, {address: 10.0.0.5, type: Hostname}]}}`: "[10.0.0.5]",
		node + `{addresses: [{address: "::ffff:192.0.2.5", type: ExternalIP}, {address: "fd00::5"}]}}`:      "[192.0.2.5 fd00::5]",
		node + `{addresses: [{address: 127.0.0.1, type: InternalIP}]}}`:                                     "[]",
		node + `{}}`: "[]",
		pod + `{hostIP: 10.0.0.6, podIP: 10.0.0.5, podIPs: [{ip: 10.0.0.5}, {ip: "fd00::5"}]}}`: "[10.0.0.5 fd00::5]",
		pod + `{hostIP: 10.0.0.6}}`: "[]",
	} {
		got, err := reduceHost(newUnstructured(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if at := fmt.Sprint(got.(*hostAddresses).at); at != want {
			t.Errorf("%s\nis at %s; want %s", text, at, want)
		}
	}
}

// TestAPIServers: where API servers listen is what their Service and their slice say, and where the client finds one.
func TestAPIServers(t *testing.T) {
	for host, want := range map[string]string{
		"":                         "[10.96.0.1:443 192.0.2.6:6443 192.0.2.7:6443]",
		"https://192.0.2.8:6443":   "[10.96.0.1:443 192.0.2.6:6443 192.0.2.7:6443 192.0.2.8:6443]",
		"https://10.96.0.1/prefix": "[10.96.0.1:443 192.0.2.6:6443 192.0.2.7:6443]",
		"https://[fd00::1]:443":    "[10.96.0.1:443 192.0.2.6:6443 192.0.2.7:6443 [fd00::1]:443]",
		"https://api.example.com":  "[10.96.0.1:443 192.0.2.6:6443 192.0.2.7:6443]",
		"127.0.0.1:8080":           "[10.96.0.1:443 127.0.0.1:8080 192.0.2.6:6443 192.0.2.7:6443]",
	} {
		s := NewSource(nil, nil)
		s.ServeAt(host)
		for _, text := range []string{
			`{apiVersion: v1, kind: Service, metadata: {namespace: default, name: kubernetes},
				spec: {clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], ports: [{name: https, port: 443, targetPort: 6443}]}}`,
			`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {namespace: default, name: kubernetes},
				addressType: IPv4, ports: [{name: https, port: 6443}], endpoints: [{addresses: [192.0.2.6]}, {addresses: [192.0.2.7]}]}`,
		} {
			u := newUnstructured(t, text)
			kind := u.GroupVersionKind().GroupKind()
			o, err := reduce(u)
			if err != nil {
				t.Fatal(err)
			}
			s.set(t.Context(), kind, o)
		}
		now := s.Nodes()
		if got := fmt.Sprint(now.APIServers); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
		for _, at := range now.APIServers {
			if _, is := now.Pods[at.Addr()]; is == at.Addr().IsLoopback() {
				t.Errorf("%q: %v is a machine's: %v", host, at, is)
			}
		}
		if s.Nodes() != now {
			t.Errorf("%q: nothing has changed, and it is another", host)
		}
	}
}
