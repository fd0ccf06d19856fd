package behaviour

import (
	"encoding/json"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// owned is a configuration that says whose hosts are.
func owned(owners ...policyconfig.Owner) string {
	var texts []string
	for _, o := range owners {
		texts = append(texts, o.String())
	}
	list, err := json.Marshal(texts)
	if err != nil {
		panic(err)
	}
	return config(`"owners":` + string(list))
}

func ownedByPod(host, uid string) policyconfig.Owner {
	return policyconfig.Owner{Host: host, Tag: token.PodTag(uid)}
}

func ownedByName(host, name string) policyconfig.Owner {
	return policyconfig.Owner{Host: host, Tag: token.NameTag(name), Named: true}
}

// TestReusedHost: a session ends when its host's address has passed to another pod, and again when it passes on; one that begins
// with the new pod stays, and so do sessions of hosts of which nothing is said.
func TestReusedHost(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(`"idleTimeout":"100s"`), start)
		w.hosts = w.hosts[:1]
		home := w.get().host
		other := w.cookies["sid"]
		for _, uid := range []string{"second", "third"} {
			w.restart(owned(ownedByPod(home, uid), ownedByPod("10.0.0.9:8080", uid)), start, ringA)
			r := w.get()
			want(t, "tokens for the one that is void", len(r.setCookies()), 1)
			want(t, "owner in the new one", w.openParts().Owner, token.PodTag(uid))
			want(t, "tokens afterwards", len(w.get().setCookies()), 0)
			w.counted("p host-reused", 1)
			w.counted("p pinned", 1)
		}
		w.cookies["sid"] = other
		want(t, "tokens for the first one, replayed", len(w.get().setCookies()), 1)
		w.counted("p host-reused", 2)
		last := w.cookies["sid"]
		w.restart(owned(ownedByPod("10.0.0.9:8080", "x")), start, ringA)
		want(t, "tokens at a proxy that does not know yet", len(w.get().setCookies()), 0)
		want(t, "token", w.cookies["sid"], last)
	})
}

// TestRenewedTokenKeepsItsOwner: over a renewal, and at a move to a host that was another's.
func TestRenewedTokenKeepsItsOwner(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		const one, two = "10.0.0.1:8080", "10.0.0.2:8080"
		list := `"owners":["` + ownedByPod(one, "a").String() + `","` + ownedByPod(two, "b").String() + `"]`
		w := newWorld(t, config(list, `"idleTimeout":"100s"`), start)
		w.hosts = []string{one}
		w.get()
		w.pass(60 * time.Second)
		want(t, "tokens when one is due", len(w.get().setCookies()), 1)
		want(t, "owner in it", w.openParts().Owner, token.PodTag("a"))
		w.hosts = []string{two}
		want(t, "tokens at the move", len(w.get().setCookies()), 1)
		want(t, "owner in that", w.openParts().Owner, token.PodTag("b"))
		w.counted("p moved", 1)
		w.counted("p renewed", 1)
	})
}

// TestSessionFollowsAName: a pod with a stable name comes back at another address, and its sessions are with it; the address that
// it had may be another's by then. A session that began before names counted gets one.
func TestSessionFollowsAName(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		const one, two, three = "10.0.0.1:8080", "10.0.0.2:8080", "[2001:db8::3]:8080"
		w := newWorld(t, config(), start)
		w.hosts = []string{one}
		w.get()
		w.hosts = []string{one, two, three}
		w.restart(owned(ownedByName(one, "web-0"), ownedByName(two, "web-1")), start, ringA)
		want(t, "host", w.get().host, one)
		want(t, "name in the token", w.openParts(), token.Parts{ID: w.openParts().ID, Owner: token.NameTag("web-0"), Named: true})
		want(t, "tokens afterwards", len(w.get().setCookies()), 0)
		id := w.openParts().ID

		w.restart(owned(ownedByName(three, "web-0"), ownedByName(one, "web-1")), start, ringA)
		r := w.get()
		want(t, "host of the one that came back", r.host, three)
		want(t, "tokens in that answer", len(r.setCookies()), 1)
		want(t, "host afterwards", w.get().host, three)
		want(t, "id", w.openParts().ID, id)
		w.counted("p renewed", 1)
		w.counted("p pinned", 1)

		w.restart(owned(ownedByName(three, "web-2"), ownedByName(one, "web-1")), start, ringA)
		w.get()
		w.counted("p host-reused", 1)
	})
}
