package behaviour

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// revoking is a configuration that revokes what is in a list of the policy's revocation.
func revoking(list, item string) string {
	return config(fmt.Sprintf(`"revocation":{%q:[%q]}`, list, item))
}

// TestRevokedSession: one session of several is void until its end, whoever has its token; the others stay.
func TestRevokedSession(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		home := w.get().host
		stolen, id := w.cookies["sid"], w.openParts().ID
		delete(w.cookies, "sid")
		other := w.get().host
		want(t, "hosts differ", home == other, false)
		w.restart(revoking("sessions", fmt.Sprintf("%016x until 2026-11-21T12:01:00Z", id)), start, ringA)
		want(t, "host of the other session", w.get().host, other)
		w.cookies["sid"] = stolen
		r := w.get() // chance may lead it to its host again
		want(t, "tokens issued in its place", len(r.setCookies()), 1)
		w.counted("p revoked", 1)
		w.counted("p pinned", 1)
		w.cookies["sid"] = stolen
		w.pass(59 * time.Second)
		w.get()
		w.counted("p revoked", 2)
		w.cookies["sid"] = stolen
		w.pass(time.Second)
		want(t, "host when the entry has no meaning any more", w.get().host, home)
	})
}

// TestRevokedForGood: an entry without an end holds, and a token without parts has no id that it could hold for.
func TestRevokedForGood(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		home := w.hosts[0]
		w.takeShort(home)
		w.restart(revoking("sessions", "0000000000000001"), start, ringA)
		want(t, "host of a session without an id", w.get().host, home)
		w.restart(revoking("sessions", fmt.Sprintf("%016x", w.openParts().ID)), start, ringA)
		w.pass(1000 * time.Hour)
		w.get() // chance may lead it to its host again
		w.counted("p revoked", 1)
	})
}

// TestRevokedHost: sessions that came to a host before a time are void, those on other hosts and later ones are not.
func TestRevokedHost(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		jars := map[string]string{}
		for range w.hosts {
			delete(w.cookies, "sid")
			host := w.get().host
			jars[host] = w.cookies["sid"]
		}
		const host = "[2001:db8::3]:8080"
		w.restart(revoking("hosts", host+" before 2026-11-21T12:00:30Z"), start, ringA)
		for on, jar := range jars {
			w.cookies["sid"] = jar
			if is := w.get().host; on != host { // chance may lead the revoked one to its host again
				want(t, "host of a session elsewhere", is, on)
			}
		}
		w.counted("p revoked", 1)
		w.pass(30 * time.Second)
		for w.cookies["sid"] = ""; w.get().host != host; {
			w.cookies["sid"] = ""
		}
		want(t, "host of a session that came later", w.get().host, host)
		w.counted("p revoked", 1)
	})
}

// TestRevokedBackend: the sessions of one backend of a split are void that came to it before a time, and those of the other
// stay; of a host that is listed twice, as one and as its backend's, the later time holds.
func TestRevokedBackend(t *testing.T) {
	blue, green := []string{"10.0.1.1:8080", "10.0.1.2:8080"}, []string{"10.0.2.1:8080", "[2001:db8::2]:8080"}
	const before = " before 2026-11-21T12:00:30Z"
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		w.hosts = slices.Concat(blue, green)
		jars := map[string]string{}
		for range w.hosts {
			delete(w.cookies, "sid")
			jars[w.get().host] = w.cookies["sid"]
		}
		list := []string{green[0] + before, green[1] + before, green[0] + " before 2026-11-20T00:00:00Z"}
		w.restart(config(`"revocation":{"hosts":["`+strings.Join(list, `","`)+`"]}`), start, ringA)
		w.hosts = blue // where those go that are void
		for _, home := range green {
			w.cookies["sid"] = jars[home]
			r := w.get()
			want(t, "tokens in place of a void one", len(r.setCookies()), 1)
			want(t, "is it on a host of the other backend", slices.Contains(blue, r.host), true)
		}
		w.counted("p revoked", 2)
		w.hosts = slices.Concat(blue, green)
		for _, home := range blue {
			w.cookies["sid"] = jars[home]
			want(t, "host of a session of the other backend", w.get().host, home)
		}
		w.pass(30 * time.Second)
		w.hosts = green
		w.cookies["sid"] = ""
		later := w.get().host
		w.hosts = slices.Concat(blue, green)
		want(t, "host of a session that came later", w.get().host, later)
		w.counted("p revoked", 2)
	})
}

// TestRevokedAfterAMove: a session that follows its pod to an address which is revoked is void as if it had begun there.
func TestRevokedAfterAMove(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		const one, two, three = "10.0.0.1:8080", "10.0.0.2:8080", "[2001:db8::3]:8080"
		w := newWorld(t, owned(ownedByName(one, "web-0")), start)
		w.hosts = []string{one}
		w.get()
		w.hosts = []string{two, three}
		text := `"revocation":{"hosts":["` + three + ` before 2026-11-21T12:00:30Z"]},"owners":["` + ownedByName(three, "web-0").String() + `"]`
		w.restart(config(text), start, ringA)
		want(t, "tokens in place of the void one", len(w.get().setCookies()), 1)
		w.counted("p revoked", 1)
	})
}
