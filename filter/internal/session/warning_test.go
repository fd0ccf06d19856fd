package session

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/token"
)

// warnedLines is a header map that counts warnings, on a clock that the test moves.
type warnedLines struct {
	lines
	warned map[string]int
	passed int
	time   int64
}

func (c *warnedLines) CountWarning(p *Policy, w Warning) { c.warned[p.Name+" "+w.String()]++ }
func (c *warnedLines) CountPassed()                      { c.passed++ }
func (c *warnedLines) CountSteered()                     {}
func (c *warnedLines) Steered() bool                     { return false }
func (c *warnedLines) Now() int64                        { return c.time }
func (c *warnedLines) Cluster() string                   { return "c" }
func (c *warnedLines) Policies() (string, bool)          { return "", false }
func (c *warnedLines) ShowKeys(token.Fingerprint)        {}

// logged makes an engine whose log is a list.
func logged(t *testing.T, policies int) (e *Engine, log *[]string) {
	e, log = engine(t, policies), &[]string{}
	e.proxy.Log = func(_ LogLevel, line string) { *log = append(*log, strings.Clone(line)) }
	return e, log
}

// unpin has a policy's backend answer without a pin.
func unpin(e *Engine, policy int, at int64) *warnedLines {
	p, _ := e.Policy("r"+strconv.Itoa(policy), nil)
	c := &warnedLines{warned: map[string]int{}, time: at}
	var x Exchange
	x.Request(p, c, at)
	x.Response(c)
	return c
}

// TestWarnedOnceAnHour: a line comes with the first request, and with the first after an hour; each request counts.
func TestWarnedOnceAnHour(t *testing.T) {
	e, log := logged(t, 2)
	for _, step := range []struct{ policy, at, lines int }{
		{0, 0, 1}, {0, 1, 1}, {1, 1, 2}, {0, 3599, 2}, {0, 3600, 3}, {0, 3601, 3}, {1, 3601, 4},
	} {
		c := unpin(e, step.policy, now+int64(step.at))
		if c.warned["p"+strconv.Itoa(step.policy)+" no-pin"] != 1 || len(*log) != step.lines {
			t.Errorf("policy %d after %d s: counted %v, %d lines, want %d", step.policy, step.at, c.warned, len(*log), step.lines)
		}
	}
	if line := (*log)[0]; !strings.HasPrefix(line, `limpet: policy "p0": a backend answered`) || !strings.HasSuffix(line, `the name "x-limpet-pin" (pinHeader)?`) {
		t.Error(line)
	}
}

// TestWarningsAreBounded: a thousand policies with a fault log no more lines in an hour than a few.
func TestWarningsAreBounded(t *testing.T) {
	e, log := logged(t, 1000)
	for hour := range 3 {
		for i := range 1000 {
			unpin(e, i, now+int64(hour)*quiet)
		}
		if want := (hour + 1) * mostLines; len(*log) != want {
			t.Errorf("hour %d: %d lines, want %d", hour, len(*log), want)
		}
	}
}

// TestPassedRoutes: a route without a policy is named once an hour, and of many no more than the log bears; each request counts.
func TestPassedRoutes(t *testing.T) {
	e, log := logged(t, 7)
	c := &warnedLines{time: now}
	for range 2 * rarely {
		e.Pass("Shop", c)
	}
	if want := `limpet: route "Shop" has no policy, so its requests have no sessions; policies are for the routes ` +
		`"r0", "r1", "r2", "r3", "r4", 2 more`; !slices.Equal(*log, []string{want}) {
		t.Errorf("%q", *log)
	}
	c.time += quiet
	for range rarely {
		e.Pass("Shop", c)
	}
	for i := range 10_000 {
		e.Pass(strconv.Itoa(i), c)
	}
	if c.passed != 3*rarely+10_000 || len(*log) != 1+mostLines {
		t.Errorf("%d requests, %d lines", c.passed, len(*log))
	}
	e, log = logged(t, 0) // as where policies come with routes
	e.Pass("Shop", c)
	if c.passed != 3*rarely+10_000 || len(*log) != 0 {
		t.Errorf("without policies for routes: %d requests, %q", c.passed, *log)
	}
}

// TestInsecure: what a client that keeps to RFC 6265 takes for secure.
func TestInsecure(t *testing.T) {
	for _, tt := range []struct {
		proto, host string
		want        bool
	}{
		{"http", "shop.test", true},
		{"http", "shop.test:8080", true},
		{"http", "10.0.0.1", true},
		{"http", "[2001:db8::1]:80", true},
		{"http", "notlocalhost", true},
		{"http", "127.0.0.1.example", true},
		{"https", "shop.test", false},
		{"", "shop.test", false},
		{"http", "localhost", false},
		{"http", "localhost:80", false},
		{"http", "a.localhost:80", false},
		{"http", "127.0.0.1:80", false},
		{"http", "[::1]", false},
		{"http", "[::1]:80", false},
	} {
		h := &lines{kv: [][2]string{{"x-forwarded-proto", tt.proto}, {":authority", tt.host}}}
		if insecure(h) != tt.want {
			t.Errorf("%s %s: %v", tt.proto, tt.host, !tt.want)
		}
	}
}
