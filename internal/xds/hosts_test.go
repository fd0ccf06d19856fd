package xds

import (
	"fmt"
	"strings"
	"testing"
)

// TestClientBadHost: where an Envoy does not take a host of a table, that one stays as it was, or has no routes, and all others are as they
// should be: at once where one has changed, and with a message for each halving else. What is said of it names it, once. Other changes take
// one message. When it is mended, or goes, nothing is left of that.
func TestClientBadHost(t *testing.T) {
	e := newFakeEnvoy(t)
	for _, c := range []struct{ name, hosts, has, refused, log string }{
		{"at first", "a=1 b=1 c=1 d=bad", "a=1 b=1 c=1 d=", "d", ""},
		{"mended", "a=1 b=1 c=1 d=1", "a=1 b=1 c=1 d=1", "", ""},
		{"one is bad", "a=1 b=bad c=1 d=1", "a=1 b=1 c=1 d=1", "b", "scopes+1-0"},
		{"another changes", "a=2 b=bad c=1 d=1", "a=2 b=1 c=1 d=1", "b", "scopes+1-0"},
		{"one more is bad", "a=bad b=bad c=2 d=1", "a=2 b=1 c=2 d=1", "a b", "scopes+1-0 scopes+1-0 scopes+1-0"},
		{"one goes", "b=bad c=3 d=2", "b=1 c=3 d=2", "b", "scopes+1-0"},
		{"bad in another way", "b=2 c=bad d=3 e=bad f=3", "b=2 c=3 d=3 e= f=3", "c e", ""},
		{"all are mended", "b=3 c=4 d=4 e=4 f=4", "b=3 c=4 d=4 e=4 f=4", "", "scopes+1-0"},
	} {
		e.log = nil
		to := listed(t, e.now, strings.Replace(byShard, "scope web#00 cluster:a", "scope web#00 cluster:a "+c.hosts, 1))
		e.set(to)
		e.run()
		if got, want := string(e.has[ScopedRoutes]["web#00"].GetResource().GetValue()), "cluster:a "+c.has; got != want {
			t.Errorf("%s: it has %q, want %q", c.name, got, want)
		}
		var refused []string
		for _, r := range e.client.listRejected() {
			refused = append(refused, strings.TrimPrefix(r.Name, "web#00, host "))
		}
		if got := strings.Join(refused, " "); got != c.refused {
			t.Errorf("%s: refused are %q, want %q", c.name, got, c.refused)
		}
		if got := strings.Join(e.log, " "); c.log != "" && got != c.log {
			t.Errorf("%s: sent %s\nwant %s", c.name, got, c.log)
		}
		if routed := e.client.routed == to.Number; routed != (c.refused == "") {
			t.Errorf("%s: it is known to have the routes: %t", c.name, routed)
		}
		if err := e.holds(to); (err == nil) != (c.refused == "") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestClientBadHostOfMany: of 64 hosts that are new it takes few messages to find the one at fault.
func TestClientBadHostOfMany(t *testing.T) {
	for _, at := range []int{0, 31, 63} {
		e := newFakeEnvoy(t)
		e.set(listed(t, e.now, byShard))
		e.run()
		e.log = nil
		hosts := make([]string, 64)
		for i := range hosts {
			hosts[i] = fmt.Sprintf("h%02d=1", i)
		}
		hosts[at] = fmt.Sprintf("h%02d=bad", at)
		e.set(listed(t, e.now, strings.Replace(byShard, "scope web#00 cluster:a", "scope web#00 cluster:a "+strings.Join(hosts, " "), 1)))
		e.run()
		if got := e.client.listRejected(); len(got) != 1 || got[0].Name != fmt.Sprintf("web#00, host h%02d", at) {
			t.Errorf("refused are %+v", got)
		}
		if len(e.log) > 9 {
			t.Errorf("it takes %d messages", len(e.log))
		}
	}
}
