package proxies

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// TestAllowedKeys holds which keys of a Gateway's infrastructure an operator may allow, and what is said of those that are not.
func TestAllowedKeys(t *testing.T) {
	for key, want := range map[string]string{
		"team": "", "example.com/cost": "", "service.beta.kubernetes.io/*": "", "cloud.google.com/*": "",
		"external-dns.alpha.kubernetes.io/hostname": "",

		"*": "must be the key", "": "must be the key", "a b": "must be the key", "example.com/": "must be the key",
		"example.com/*/a": "must be the key", "*.example.com/*": "must be the key", "Example.com/*": "must be the key",
		"limpet.dev/*": "not a Gateway's", "limpet.dev/proxies": "not a Gateway's", "app.kubernetes.io/name": "not a Gateway's",
		"gateway.networking.k8s.io/*": "not a Gateway's", "seccomp.security.alpha.kubernetes.io/pod": "not a Gateway's",
		"container.apparmor.security.beta.kubernetes.io/*": "not a Gateway's",
	} {
		err := AllowedKeys{key}.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", key, err, want)
		}
	}
	g := &gatewayv1.Gateway{}
	const text = `{labels: {team: edge, app: payments, example.com/a: b}, annotations: {example.com/a: b, example.com.evil/a: b, eks.amazonaws.com/role-arn: admin}}`
	if err := yaml.UnmarshalStrict([]byte("spec: {infrastructure: "+text+"}"), g); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		allowed AllowedKeys
		want    string // what is left out
	}{
		{nil, "labels.app, labels.example.com/a, labels.team, annotations.eks.amazonaws.com/role-arn, annotations.example.com.evil/a, annotations.example.com/a: left out"},
		{AllowedKeys{"team", "example.com/*"}, "labels.app, annotations.eks.amazonaws.com/role-arn, annotations.example.com.evil/a: left out"},
		{AllowedKeys{"app", "team", "example.com/a", "example.com.evil/*", "eks.amazonaws.com/role-arn"}, ""},
	} {
		_, got, _ := strings.Cut(c.allowed.LeftOut(g), "does not allow ")
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.allowed, got, c.want)
		}
	}
}
