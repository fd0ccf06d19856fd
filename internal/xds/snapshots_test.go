package xds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// text makes a resource for tests: what it leads to stands in its content, as words. Clusters that a test's Envoy shall
// reject have "bad" in it.
func text(t Type, name, content string) *Resource {
	r := NewResource(t, name, []byte(content))
	if t == Filter {
		r.Trial = NewResource(Listener, "trial/"+name, []byte("filter:"+name))
		r.Vary = func(content []byte, times int) []byte {
			return fmt.Appendf(slices.Clone(content), " times:%d", times)
		}
	}
	if t == Listener && strings.Contains(content, "routes:") && strings.Contains(content, "shards") {
		r.Sharded = NewResource(t, name, []byte(strings.Replace(content, "routes:", "scoped:", 1)))
		r.Trial = NewResource(t, "trial/shards", []byte(content[strings.Index(content, "shards"):]))
	}
	if t == Routes || t == ScopedRoutes {
		splitHosts(r, content)
		r.Whole = strings.Contains(content, "whole")
		r.LeadHere = func(scope string) *Resource { return text(ScopedRoutes, scope, "table:"+name) }
		if _, table, isLed := strings.Cut(content, "table:"); isLed && !strings.HasSuffix(name, "#") {
			r.After = table
		}
		for _, word := range strings.Fields(content) {
			if cluster, found := strings.CutPrefix(word, "cluster:"); found {
				r.Needs = append(r.Needs, cluster)
			}
		}
	}
	return r
}

// splitHosts gives a table its hosts, which are words "HOST=CONTENT"; "HOST=" is one without routes.
func splitHosts(r *Resource, content string) {
	var rest []string
	for _, word := range strings.Fields(content) {
		if host, text, is := strings.Cut(word, "="); is {
			r.Hosts = append(r.Hosts, Host{host, []byte(text)})
		} else {
			rest = append(rest, word)
		}
	}
	r.WriteHosts = func(contents [][]byte) []byte {
		words := slices.Clone(rest)
		for i, c := range contents {
			words = append(words, fmt.Sprintf("%s=%s", r.Hosts[i].Name, c))
		}
		return []byte(strings.Join(words, " "))
	}
}

// listed reads a snapshot from lines "TYPE NAME CONTENT...".
func listed(t *testing.T, since time.Time, lines string) *Snapshot {
	t.Helper()
	edits := map[Type]Edit{}
	add := func(kind Type, words []string) {
		edits[kind] = Edit{Set: append(edits[kind].Set, text(kind, words[1], strings.Join(words[2:], " ")))}
	}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at := slices.IndexFunc(typeNames[:], func(name string) bool { return strings.HasPrefix(name, words[0]) })
		if at < 0 || len(words) < 2 {
			t.Fatalf("no resource: %q", line)
		}
		add(Type(at), words)
		if Type(at) == Cluster {
			add(Endpoint, words)
		}
	}
	return NewSnapshot(since).Edit(since, edits)
}

// endpoints is the edit that gives clusters others.
func endpoints(resources ...*Resource) map[Type]Edit {
	return map[Type]Edit{Endpoint: {Set: resources}}
}

// unacknowledged are endpoints of which an Envoy gets others until it knows whose they are.
func unacknowledged(name, content, acknowledged string) *Resource {
	r := text(Endpoint, name, content)
	r.Moved, r.Without = []string{content}, func([]string) *Resource { return text(Endpoint, name, acknowledged) }
	return r
}

// moved are endpoints at addresses that have passed to other pods one after the other, and one that has not.
func moved(name string, hosts ...string) *Resource {
	with := func(hosts []string) *Resource {
		return text(Endpoint, name, strings.Join(append([]string{"other"}, hosts...), " "))
	}
	r := with(hosts)
	r.Moved = hosts
	r.Without = func(some []string) *Resource {
		return with(slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return slices.Contains(some, host) }))
	}
	return r
}
