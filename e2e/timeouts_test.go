package e2e

import (
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const aSecond = time.Second

// seconds is a duration in the plugin configuration.
func seconds(n int) policyconfig.Duration { return policyconfig.Duration(n) }

// timed deploys the sessions "absolute" (4 s), "idle" (8 s, renewed after a quarter), "both" (12 s absolute, 3 s
// idle) and "x-idle" (the same as idle in a header).
func timed(t *testing.T) ([]*harness.Backend, *harness.Envoy) {
	t.Helper()
	rules := []harness.Rule{
		harness.CookieRule("absolute", "pods"), harness.CookieRule("idle", "pods"),
		harness.CookieRule("both", "pods"), harness.HeaderRule("x-idle", "pods"),
	}
	rules[0].Session.AbsoluteTimeout = "4s"
	rules[2].Session.AbsoluteTimeout = "12s"
	pods, deployment := threePods(t, rules...)
	deployment.Policies = editing(t, map[string]func(*policyconfig.Policy){
		"idle":   func(p *policyconfig.Policy) { p.IdleTimeout = seconds(8) },
		"both":   func(p *policyconfig.Policy) { p.IdleTimeout = seconds(3) },
		"x-idle": func(p *policyconfig.Policy) { p.IdleTimeout = seconds(8) },
	})
	return pods, harness.Run(t, deployment)
}

// requirements: 2A.20, 2B.O11, S39
func TestTimeouts(t *testing.T) {
	t.Parallel()
	pods, envoy := timed(t)
	t.Run("absolute, in real time", func(t *testing.T) {
		t.Parallel()
		checkAbsolute(t, envoy)
	})
	t.Run("idle, in real time", func(t *testing.T) {
		t.Parallel()
		checkIdle(t, envoy)
	})
	t.Run("by the dates in the token", func(t *testing.T) { checkDates(t, envoy, pods) })
	t.Run("renewal", func(t *testing.T) { checkRenewal(t, envoy, pods) })
}

// checkAbsolute keeps a session busy past its end.
func checkAbsolute(t *testing.T, envoy *harness.Envoy) {
	client := envoy.Client()
	begin := time.Now()
	first := visit(t, client, "/absolute")
	issued := open(t, envoy, "absolute", wantToken(t, first, "absolute").Value).IssuedAt
	for {
		asked := time.Now()
		response := visit(t, client, "/absolute")
		cookie := response.Cookie(t, "absolute")
		if cookie == nil {
			if asked.Unix() >= issued+5 {
				t.Fatalf("the session still lives after %v", asked.Sub(begin))
			}
			if response.Backend != first.Backend {
				t.Fatalf("moved from %s to %s after %v", first.Backend, response.Backend, asked.Sub(begin))
			}
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if answered := time.Now(); answered.Unix() < issued+4 {
			t.Errorf("the session ended after %v", answered.Sub(begin))
		}
		if again := open(t, envoy, "absolute", cookie.Value); again.IssuedAt < issued+4 {
			t.Errorf("the new token says it was issued at %d, the old one at %d", again.IssuedAt, issued)
		}
		return
	}
}

// checkIdle leaves a session alone until it is over.
func checkIdle(t *testing.T, envoy *harness.Envoy) {
	client := envoy.Client()
	first := wantToken(t, visit(t, client, "/both"), "both")
	begun := open(t, envoy, "both", first.Value)
	time.Sleep(time.Until(time.Unix(begun.LastSeen+3, 0).Add(50 * time.Millisecond)))
	again := open(t, envoy, "both", wantToken(t, visit(t, client, "/both"), "both").Value)
	if again.IssuedAt < begun.IssuedAt+3 {
		t.Errorf("a session that was idle for 3 s goes on: issued at %d, then %d", begun.IssuedAt, again.IssuedAt)
	}
	if envoy.Outcomes(t, "both")["expired-idle"] != 1 {
		t.Errorf("outcomes: %v", envoy.Outcomes(t, "both"))
	}
}

// checkDates presents tokens of chosen ages: to the second, but for one second between mint and use.
func checkDates(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	for _, c := range []struct {
		session      string
		issued, seen time.Duration
		outcome      string
	}{
		{"absolute", -2 * aSecond, -2 * aSecond, "pinned"},
		{"absolute", -4 * aSecond, 0, "expired-absolute"},
		{"absolute", -time.Hour, -time.Hour, "expired-absolute"},
		{"idle", -time.Hour, 0, "pinned"},
		{"idle", -time.Hour, -6 * aSecond, "renewed"},
		{"idle", -8 * aSecond, -8 * aSecond, "expired-idle"},
		{"both", -12 * aSecond, 0, "expired-absolute"},
		{"idle", 50 * aSecond, 50 * aSecond, "pinned"},
		{"idle", 65 * aSecond, 65 * aSecond, "not-yet-valid"},
		{"idle", -10 * aSecond, 65 * aSecond, "not-yet-valid"},
	} {
		before := envoy.Outcomes(t, c.session)[c.outcome]
		shares := map[string]int{}
		for range 9 {
			text := mint(t, envoy, c.session, pods[0].Address, harness.Dates{Issued: c.issued, Seen: c.seen})
			shares[visit(t, envoy.Stranger(), "/"+c.session, cookieLine(c.session, text)).Backend]++
		}
		if got := envoy.Outcomes(t, c.session)[c.outcome] - before; got != 9 {
			t.Errorf("%+v: outcome counted %d times, want 9: %v", c, got, envoy.Outcomes(t, c.session))
		}
		if pinned := c.outcome == "pinned" || c.outcome == "renewed"; pinned != (shares["a"] == 9) {
			t.Errorf("%+v: reached %v", c, shares)
		}
	}
}

// checkRenewal wants the token written again after a quarter of the idle time, and no sooner.
func checkRenewal(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	old := harness.Dates{Issued: -time.Hour, Seen: -3 * aSecond}
	text := mint(t, envoy, "idle", pods[1].Address, old)
	was := open(t, envoy, "idle", text)
	response := visit(t, envoy.Stranger(), "/idle", cookieLine("idle", text))
	is := open(t, envoy, "idle", wantToken(t, response, "idle").Value)
	if is.IssuedAt != was.IssuedAt || is.LastSeen < was.LastSeen+3 || is.Host != was.Host {
		t.Errorf("renewed from %+v to %+v", was, is)
	}
	young := mint(t, envoy, "idle", pods[1].Address, harness.Dates{Issued: -time.Hour})
	wantNoToken(t, visit(t, envoy.Stranger(), "/idle", cookieLine("idle", young)), "idle")

	text = mint(t, envoy, "x-idle", pods[1].Address, old)
	response = visit(t, envoy.Stranger(), "/x-idle", "x-idle: "+text)
	if is := open(t, envoy, "x-idle", response.Header.Get("x-idle")); is.LastSeen < was.LastSeen+3 {
		t.Errorf("the header was not renewed: %+v", is)
	}
}
