package rollout

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/policy-config"
)

// parsePolicies reads "NAME routes=a,b clusters=c".
func parsePolicies(lines ...string) policyconfig.Config {
	c := policyconfig.DefaultConfig()
	for _, line := range lines {
		fields := strings.Fields(line)
		p := policyconfig.Policy{Name: fields[0]}
		for _, f := range fields[1:] {
			name, list, _ := strings.Cut(f, "=")
			if name == "routes" {
				p.Routes = strings.Split(list, ",")
			} else {
				p.Clusters = strings.Split(list, ",")
			}
		}
		c.Policies = append(c.Policies, p)
	}
	return c
}

func formatPolicies(c policyconfig.Config) []string {
	var lines []string
	for _, p := range c.Policies {
		line := p.Name + " routes=" + strings.Join(p.Routes, ",")
		if len(p.Clusters) > 0 {
			line += " clusters=" + strings.Join(p.Clusters, ",")
		}
		lines = append(lines, line)
	}
	return lines
}

// TestUnite: under both configurations' policies no route and cluster has two, and the new one's have what they ask
// for.
func TestUnite(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new []string
		want     []string
	}{
		{"more", []string{"a routes=r1"}, []string{"a routes=r1", "b routes=r2"}, []string{"a routes=r1", "b routes=r2"}},
		{"less", []string{"a routes=r1", "b routes=r2"}, []string{"a routes=r1"}, []string{"a routes=r1", "b routes=r2"}},
		{"renamed", []string{"a routes=r1"}, []string{"b routes=r1"}, []string{"b routes=r1"}},
		{"renamed in part", []string{"a routes=r1,r2"}, []string{"b routes=r1"}, []string{"b routes=r1", "a routes=r2"}},
		{"other routes", []string{"a routes=r1,r2"}, []string{"a routes=r2,r3"}, []string{"a routes=r2,r3,r1"}},
		{
			"other clusters", []string{"a routes=r clusters=c1"}, []string{"a routes=r clusters=c2"},
			[]string{"a routes=r clusters=c2,c1"},
		},
		{
			"clusters swapped", []string{"a routes=r clusters=c1", "b routes=r clusters=c2"},
			[]string{"a routes=r clusters=c2", "b routes=r clusters=c1"},
			[]string{"a routes=r clusters=c2", "b routes=r clusters=c1"},
		},
		{
			"all to one cluster each", []string{"a routes=r"}, []string{"a routes=r clusters=c1", "b routes=r clusters=c2"},
			[]string{"a routes=r clusters=c1", "b routes=r clusters=c2"},
		},
		{
			"one cluster each to all", []string{"a routes=r clusters=c1", "b routes=r clusters=c2"},
			[]string{"a routes=r"}, []string{"a routes=r"},
		},
		{
			"side by side", []string{"a routes=r clusters=c1"}, []string{"b routes=r clusters=c2"},
			[]string{"b routes=r clusters=c2", "a routes=r clusters=c1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, new := parsePolicies(c.old...), parsePolicies(c.new...)
			both, more := unite(old, new)
			if got := formatPolicies(both); !slices.Equal(got, c.want) || more == slices.Equal(got, c.new) {
				t.Errorf("got %q, which is said to be more than the new one: %t; want %q", got, more, c.want)
			}
			if got := formatPolicies(new); !slices.Equal(got, c.new) {
				t.Errorf("the new one has become %q", got)
			}
			if got := formatPolicies(old); !slices.Equal(got, c.old) {
				t.Errorf("the old one has become %q", got)
			}
		})
	}
}

// TestUnionThatCantBe: where the policies of both are too many, the filter goes to the new ones at once.
func TestUnionThatCantBe(t *testing.T) {
	old, new := makeHalfFull(t, "old"), makeHalfFull(t, "new")
	got, err := unionJSON(old, new)
	if err != nil || !bytes.Equal(got, new.PluginJSON) {
		t.Errorf("got %d bytes and %v, want the new configuration's %d", len(got), err, len(new.PluginJSON))
	}
}

// makeHalfFull makes a configuration of one policy, with more than half of the routes that a policy may have.
func makeHalfFull(t *testing.T, name string) *envoy.Discovery {
	t.Helper()
	routes := make([]string, policyconfig.MaxRoutes/2+1)
	for i := range routes {
		routes[i] = fmt.Sprintf("%s%d", name, i)
	}
	p := policyconfig.DefaultPolicy()
	p.Name, p.SessionName, p.Routes = "p", "p", routes
	config := policyconfig.DefaultConfig()
	config.Policies = []policyconfig.Policy{p}
	text, err := policyconfig.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return &envoy.Discovery{Plugin: config, PluginJSON: text}
}
