package behaviour

import (
	"fmt"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// leadTo is the item for a cluster of a backend, in a rule.
func leadTo(cluster, backend string, rule uint32) policyconfig.Lead {
	return policyconfig.Lead{Cluster: cluster, Backend: token.BackendTag(backend), Rule: rule}
}

// splitRule is a rule with the backends blue and green, whose weights are all with one of them at a time, and with a route for each.
type splitRule struct {
	*world
	start  start
	fields []string
}

// eachLed runs the test on every build that can be shown routes that match a header.
func eachLed(t *testing.T, fields []string, test func(t *testing.T, s *splitRule)) {
	t.Helper()
	eachBuild(t, func(t *testing.T, start start) {
		s := &splitRule{newWorld(t, ledConfig(fields, "blue", "green"), start), start, fields}
		if _, real := s.Filter.(realProxy); real {
			t.Skip("e2e/envoygateway has such routes on a real Envoy")
		}
		s.Hosts = map[string][]string{
			"to-blue": {"10.0.0.1:8080", "10.0.0.2:8080"}, "to-green": {"10.0.1.1:8080", "10.0.1.2:8080"},
		}
		s.Copies = map[string]string{}
		for _, backend := range []string{"blue", "green"} {
			s.Copies["r "+leadTo("", backend, 7).Value()] = "to-" + backend
		}
		s.choose("blue")
		test(t, s)
	})
}

// ledConfig is a configuration that leads sessions to some backends, on the clusters of the rule and those of its copies.
func ledConfig(fields []string, backends ...string) string {
	list := ""
	for _, backend := range backends {
		for _, cluster := range []string{backend, "to-" + backend} {
			list += fmt.Sprintf(",%q", leadTo(cluster, backend, 7).String())
		}
	}
	return config(append([]string{`"leads":[` + list[1:] + `]`}, fields...)...)
}

// choose gives a backend all of the weight.
func (s *splitRule) choose(backend string) {
	s.Hosts["r"], s.Cluster = s.Hosts["to-"+backend], map[string]string{"r": backend}
}

// visit sends a request with the jar's cookies and gives the host and the status.
func (s *splitRule) visit(headers ...[2]string) (host, status string) {
	s.t.Helper()
	h := append([][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "shop.example"}, {":scheme", "https"}}, headers...)
	if len(s.cookies) > 0 {
		h = append(h, [2]string{"cookie", s.cookieLine()})
	}
	r, err := s.Send("r", h)
	s.noError(err)
	s.store(values(r.Headers, "set-cookie"))
	return r.Host, r.Status
}

func (s *splitRule) wantHost(t *testing.T, what, wanted string) {
	t.Helper()
	host, _ := s.visit()
	want(t, "host "+what, host, wanted)
}

// TestSessionsKeepTheirBackend: the weights choose for new sessions alone, and a lost host's sessions go to another of its backend.
func TestSessionsKeepTheirBackend(t *testing.T) {
	eachLed(t, nil, func(t *testing.T, s *splitRule) {
		home, _ := s.visit()
		want(t, "backend in the token", s.openParts().Backend, token.BackendTag("blue"))
		s.choose("green")
		for range 3 {
			s.wantHost(t, "under other weights", home)
		}
		s.counted("p pinned", 3)
		s.Hosts["to-blue"] = without1(s.Hosts["to-blue"], home)
		s.wantHost(t, "after the loss of its host", s.Hosts["to-blue"][0])
		want(t, "backend in that token", s.openParts().Backend, token.BackendTag("blue"))
		s.cookies = map[string]string{}
		host, _ := s.visit()
		want(t, "a new session is in green", host == "10.0.1.1:8080" || host == "10.0.1.2:8080", true)
	})
}

// TestBackendWithoutCluster: a control plane answers itself where a backend has no endpoints, or is not there. That ends the session,
// once; a strict one has its status for as long.
func TestBackendWithoutCluster(t *testing.T) {
	for _, answer := range [][2]string{{"503", "cluster_not_found"}, {"500", "direct_response"}} {
		own := func(string, [][2]string) [][2]string { return [][2]string{{":status", answer[0]}} }
		eachLed(t, nil, func(t *testing.T, s *splitRule) {
			s.visit()
			s.choose("green")
			s.Details, s.Answer = answer[1], own
			_, status := s.visit()
			want(t, "status", status, answer[0])
			want(t, "cookies that are left", len(s.cookies), 0)
			_, _ = s.visit()
			s.counted("p failed", 1)
			s.Details, s.Answer = "", nil
			s.wantHost(t, "afterwards", s.Hosts["to-green"][s.Turn%2])
		})
		eachLed(t, []string{`"onHostLost":"Fail"`, `"failStatus":410`}, func(t *testing.T, s *splitRule) {
			home, _ := s.visit()
			s.Details, s.Answer = answer[1], own
			_, status := s.visit()
			want(t, "status of a strict session", status, "410")
			s.Details, s.Answer = "", nil
			s.wantHost(t, "when the backend is back", home)
		})
	}
}

// TestBackendTakenOut: a session of a backend that the rule has no more goes by the weights, without an error.
func TestBackendTakenOut(t *testing.T) {
	eachLed(t, nil, func(t *testing.T, s *splitRule) {
		s.visit()
		s.restart(ledConfig(s.fields, "green"), s.start, ringA)
		s.choose("green")
		host, status := s.visit()
		want(t, "status", status, "200")
		want(t, "it is in green", host == "10.0.1.1:8080" || host == "10.0.1.2:8080", true)
		want(t, "backend in the token", s.openParts().Backend, token.BackendTag("green"))
	})
}

// TestSharedCluster: a control plane may have the routes to a backend share a cluster, whose name nobody knows; sessions that were led
// there are of the backend all the same.
func TestSharedCluster(t *testing.T) {
	eachLed(t, nil, func(t *testing.T, s *splitRule) {
		list := fmt.Sprintf(`"leads":[%q,%q]`, leadTo("blue", "blue", 7).String(), leadTo("green", "green", 7).String())
		s.restart(config(list), s.start, ringA)
		home, _ := s.visit()
		s.choose("green")
		s.Hosts["to-blue"] = without1(s.Hosts["to-blue"], home)
		s.wantHost(t, "after the loss of its host", s.Hosts["to-blue"][0])
		want(t, "backend in that token", s.openParts().Backend, token.BackendTag("blue"))
	})
}

// TestClientsDoNotLead: not by the header, where a fence is missing, with a session or without.
func TestClientsDoNotLead(t *testing.T) {
	eachLed(t, nil, func(t *testing.T, s *splitRule) {
		steer := [2]string{backendHeader, leadTo("", "green", 7).Value()}
		host, _ := s.visit(steer)
		want(t, "a stranger is in blue", host == "10.0.0.1:8080" || host == "10.0.0.2:8080", true)
		again, _ := s.visit(steer)
		want(t, "host of its session", again, host)
		s.cookies["sid"] = "nonsense"
		host, _ = s.visit(steer)
		want(t, "one with a void token is in blue", host == "10.0.0.1:8080" || host == "10.0.0.2:8080", true)
	})
}

// TestRevokedBackendOfALedSplit: the sessions that came to a backend before a time are void, by what their tokens call it, whichever
// backend the weights choose by then; those of the other backend stay, and later ones too.
func TestRevokedBackendOfALedSplit(t *testing.T) {
	eachLed(t, nil, func(t *testing.T, s *splitRule) {
		begin := func(backend string) (jar, home string) {
			s.choose(backend)
			delete(s.cookies, "sid")
			home, _ = s.visit()
			return s.cookies["sid"], home
		}
		blue, blueHome := begin("blue")
		green, _ := begin("green")
		list := fmt.Sprintf(`"revocation":{"backends":["%08x before 2026-11-21T12:00:30Z"]}`, token.BackendTag("green"))
		s.restart(ledConfig(append([]string{list}, s.fields...), "blue", "green"), s.start, ringA)
		s.choose("blue")
		s.cookies["sid"] = green
		host, status := s.visit()
		want(t, "status of a void session", status, "200")
		want(t, "it is in blue", host == "10.0.0.1:8080" || host == "10.0.0.2:8080", true)
		want(t, "backend in its new token", s.openParts().Backend, token.BackendTag("blue"))
		s.counted("p revoked", 1)
		s.choose("green")
		s.cookies["sid"] = blue
		s.wantHost(t, "of a session of the other backend", blueHome)
		s.pass(30 * time.Second)
		_, later := begin("green")
		s.choose("blue")
		s.wantHost(t, "of a session that came later", later)
		s.counted("p revoked", 1)
	})
}
