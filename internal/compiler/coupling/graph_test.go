package coupling

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// newNode makes one of a line: hostnames, which may follow a place and a slash, and keys that begin with a colon.
func newNode(line string) (n Node) {
	for word := range strings.FieldsSeq(line) {
		if key, is := strings.CutPrefix(word, ":"); is {
			n.Keys = append(n.Keys, key)
		} else {
			place, name, placed := strings.Cut(word, "/")
			if !placed {
				place, name = "", word
			}
			n.Hosts = append(n.Hosts, Host{place, name})
		}
	}
	return n
}

func ref(name string) object.Ref { return object.Ref{Kind: object.KindHTTPRoute, Name: name} }

// listComponents lists the names of each component.
func listComponents(g *Graph, names []string) string {
	var all []string
	seen := map[string]bool{}
	for _, name := range names {
		var members []string
		for _, r := range g.Component(ref(name)) {
			members = append(members, r.Name)
		}
		slices.Sort(members)
		if text := strings.Join(members, "+"); !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

// TestComponents holds which routes are coupled: a, b, c in order of the lines.
func TestComponents(t *testing.T) {
	for name, c := range map[string]struct {
		routes []string
		want   string
	}{
		"a host of one's own":          {[]string{"a.org", "b.org"}, "a b"},
		"one host":                     {[]string{"a.org", "a.org"}, "a+b"},
		"a wildcard above":             {[]string{"*.org", "a.b.org", "a.com"}, "a+b c"},
		"a wildcard below a wildcard":  {[]string{"*.b.org", "*.org"}, "a+b"},
		"wildcards side by side":       {[]string{"*.a.org", "*.b.org"}, "a b"},
		"a wildcard is not its parent": {[]string{"*.a.org", "a.org"}, "a b"},
		"every host":                   {[]string{"*", "a.org", "*.com"}, "a+b+c"},
		"by way of another":            {[]string{"a.org", "b.org", "a.org b.org"}, "a+b+c"},
		"two places":                   {[]string{"p/a.org", "q/a.org", "p/*.org", "q/*"}, "a+c b+d"},
		"every place":                  {[]string{"p/a.org", "q/b.org", "a.org"}, "a+c b"},
		"a wildcard in every place":    {[]string{"p/a.org", "q/b.org", "r/*.com", "*.org"}, "a+b+d c"},
		"every host of a place":        {[]string{"p/*", "a.org", "q/a.com"}, "a+b c"},
		"a place by way of another":    {[]string{"p/a.org", "q/a.org", "p/*.org q/*.org"}, "a+b+c"},
		"a key":                        {[]string{"a.org :x", "b.org :y", "c.org :x"}, "a+c b"},
		"a key by way of a host":       {[]string{"a.org :x", "a.org", "b.org :x"}, "a+b+c"},
	} {
		g, names := NewGraph(), []string{}
		for i, line := range c.routes {
			names = append(names, string(rune('a'+i)))
			g.Set(ref(names[i]), newNode(line))
		}
		if got := listComponents(g, names); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestGraphForgets sets and removes routes at random, and wants the graph to be what it is when it is made again.
func TestGraphForgets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 4))
	words := []string{"a.org", "b.org", "*.org", "*", "*.a.org", "x.a.org", "a.com", "*.com", "p/a.org", "p/*", "q/*.org", "q/a.com", ":x", ":y"}
	names := []string{"a", "b", "c", "d", "e", "f"}
	g, lines := NewGraph(), map[string]string{}
	for range 500 {
		name := names[random.IntN(len(names))]
		if random.IntN(3) == 0 {
			g.Remove(ref(name))
			delete(lines, name)
		} else {
			lines[name] = words[random.IntN(12)] + " " + words[random.IntN(len(words))]
			n := newNode(lines[name])
			g.Set(ref(name), n)
		}
		rebuilt, there := NewGraph(), []string{}
		for _, name := range names {
			if line, is := lines[name]; is {
				there = append(there, name)
				rebuilt.Set(ref(name), newNode(line))
			}
		}
		if got, want := listComponents(g, there), listComponents(rebuilt, there); got != want {
			t.Fatalf("%v: %s, made again %s", lines, got, want)
		}
		if g.Len() != len(lines) {
			t.Fatalf("%d routes, not %d", g.Len(), len(lines))
		}
	}
	for _, name := range names {
		g.Remove(ref(name))
	}
	if len(g.byHost)+len(g.byKey)+len(g.narrower)+len(g.nodes) > 0 {
		t.Errorf("an empty graph keeps %v %v %v", g.byHost, g.byKey, g.narrower)
	}
}
