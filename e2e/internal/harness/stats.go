package harness

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Stats reads the counters and gauges whose names match a regular expression. A name that Envoy gives for each
// worker is there once for all of them.
func (e *Envoy) Stats(t testing.TB, pattern string) map[string]uint64 {
	t.Helper()
	text := e.Admin(t, "/stats?format=json&type=All&filter="+url.QueryEscape(ownCounters(pattern)))
	var page struct {
		Stats []struct {
			Name  string  `json:"name"`
			Value *uint64 `json:"value"`
		} `json:"stats"`
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		t.Fatalf("admin /stats: %v", err)
	}
	values := map[string]uint64{}
	for _, stat := range page.Stats {
		if stat.Value != nil {
			values[usualCounter(stat.Name)] = *stat.Value
		}
	}
	return values
}

// Stat reads one counter or gauge by its full name; 0 if Envoy has none of that name.
func (e *Envoy) Stat(t testing.TB, name string) uint64 {
	t.Helper()
	return e.Stats(t, "^"+regexp.QuoteMeta(name)+"$")[name]
}

// Outcomes are the limpet counters of the policy whose session has that name, by outcome; zeros left out.
func (e *Envoy) Outcomes(t testing.TB, sessionName string) map[string]uint64 {
	t.Helper()
	prefix := "wasmcustom.limpet_sessions.policy." + e.Policy(t, sessionName).Name + ".outcome."
	outcomes := map[string]uint64{}
	for name, value := range e.Stats(t, "^"+regexp.QuoteMeta(prefix)) {
		if value > 0 {
			outcomes[strings.TrimPrefix(name, prefix)] = value
		}
	}
	return outcomes
}

// SessionTotal is the sum of all limpet session counters.
func (e *Envoy) SessionTotal(t testing.TB) uint64 {
	t.Helper()
	var total uint64
	for _, value := range e.Stats(t, `^wasmcustom\.limpet_sessions\.`) {
		total += value
	}
	return total
}
