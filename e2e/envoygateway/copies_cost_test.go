package envoygateway

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// splitRules are the rules of TestCopiesCost, four in a route: that is as many as have room for copies.
const splitRules = 500

// TestCopiesCost prints what Envoy Gateway makes of 500 split rules of three backends, as they are written and as limpet writes them ("make
// bench-copies"): how long it translates, and how large Envoy's tables become.
func TestCopiesCost(t *testing.T) {
	if os.Getenv("LIMPET_LONG") == "" {
		t.Skip("make bench-copies measures that")
	}
	serveModule(t)
	startHosts(t, versions)
	base := base + versionBackends("", "") + makeRoute("HTTPRoute", "health", "health.test", "  - backendRefs: ["+makeRef("v1", 1)+"]\n")
	written := base + manySplits("")
	limpets := base + manySplits("    sessionPersistence: {sessionName: cart}\n")
	fmt.Printf("\n| %d rules of three backends | translated, s of Gateway API, s of xDS | processor, s | live, s | routes | clusters | table of routes, MB |\n"+
		"|---|---:|---:|---:|---:|---:|---:|\n", splitRules)
	measureCopies(t, "as they are written", base, written)
	measureCopies(t, "as limpet writes them", base,
		with(t, compile(t, limpets, nil, "--wasm-url", wasmURL, "--keys", ring(t, newKey(t, "one")), "--keys-in-clear"), limpets))
}

// translated is the metric of what a runner of Envoy Gateway takes, whose name follows.
const translated = "watchable_subscribe_duration_seconds_sum{runner="

// manySplits are routes with four split rules each.
func manySplits(session string) string {
	var all strings.Builder
	for route := range splitRules / 4 {
		var rules strings.Builder
		for rule := range 4 {
			fmt.Fprintf(&rules, "  - matches: [{path: {value: /%d}}]\n%s    backendRefs: %s\n", rule, session, refVersions([3]int{60, 30, 10}))
		}
		all.WriteString(makeRoute("HTTPRoute", fmt.Sprint("r", route), fmt.Sprintf("r%d.test", route), rules.String()))
	}
	return all.String()
}

// measureCopies prints what a manifest costs an Envoy Gateway that has a frame already.
func measureCopies(t *testing.T, what, base, manifest string) {
	t.Run(what, func(t *testing.T) {
		p := start(t, base)
		p.serves(t, "health.test/")
		before := readMetrics(t)
		began := time.Now()
		p.apply(t, manifest)
		p.serves(t, fmt.Sprintf("r%d.test/3", splitRules/4-1))
		live := time.Since(began)
		table := admin(t, "/config_dump?resource=dynamic_route_configs")
		after := before
		spent := func(name string) float64 { return after[name] - before[name] }
		eventually(t, "both have said what they took", func() bool {
			after = readMetrics(t)
			return spent(translated+`"gateway-api"`) > 0 && spent(translated+`"xds"`) > 0
		})
		fmt.Printf("| %s | %.1f, %.1f | %.1f | %.1f | %d | %d | %.1f |\n", what,
			spent(translated+`"gateway-api"`), spent(translated+`"xds"`), spent("process_cpu_seconds_total"), live.Seconds(),
			strings.Count(table, "/match/"), strings.Count(admin(t, "/clusters"), "::default_priority::max_connections::"), float64(len(table))/1e6)
	})
}

// readMetrics adds up Envoy Gateway's metrics by name and runner.
func readMetrics(t *testing.T) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(download(t, http.DefaultClient, "http://127.0.0.1:19001/metrics")) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			continue
		}
		all[name] += n
		for _, runner := range []string{`"gateway-api"`, `"xds"`} {
			if metric, labels, has := strings.Cut(name, "{"); has && strings.Contains(labels, "runner="+runner) {
				all[metric+"{runner="+runner] += n
			}
		}
	}
	return all
}
