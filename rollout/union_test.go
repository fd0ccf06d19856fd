package rollout

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/policy-config"
)

// policies reads "NAME routes=a,b clusters=c".
func policies(lines ...string) policyconfig.Config {
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

func text(c policyconfig.Config) []string {
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

// TestUnite: under both configurations' policies no route and cluster has two, and the new one's have what they ask for.
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
		{"other clusters", []string{"a routes=r clusters=c1"}, []string{"a routes=r clusters=c2"}, []string{"a routes=r clusters=c2,c1"}},
		{
			"clusters swapped", []string{"a routes=r clusters=c1", "b routes=r clusters=c2"}, []string{"a routes=r clusters=c2", "b routes=r clusters=c1"},
			[]string{"a routes=r clusters=c2", "b routes=r clusters=c1"},
		},
		{
			"all to one cluster each", []string{"a routes=r"}, []string{"a routes=r clusters=c1", "b routes=r clusters=c2"},
			[]string{"a routes=r clusters=c1", "b routes=r clusters=c2"},
		},
		{"one cluster each to all", []string{"a routes=r clusters=c1", "b routes=r clusters=c2"}, []string{"a routes=r"}, []string{"a routes=r"}},
		{"beside", []string{"a routes=r clusters=c1"}, []string{"b routes=r clusters=c2"}, []string{"b routes=r clusters=c2", "a routes=r clusters=c1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, new := policies(c.old...), policies(c.new...)
			if got := text(unite(old, new)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := text(new); !slices.Equal(got, c.new) {
				t.Errorf("the new one has become %q", got)
			}
			if got := text(old); !slices.Equal(got, c.old) {
				t.Errorf("the old one has become %q", got)
			}
		})
	}
}
