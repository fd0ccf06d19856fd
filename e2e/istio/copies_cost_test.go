package istio

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// splitRules are the rules of TestCopiesCost, four in a route.
const splitRules = 500

// TestCopiesCost prints what Istio's discovery server makes of 500 split rules of three backends, as they are written and with limpet's
// copies ("make bench-copies"): how long it takes until Envoy has them, of its own processor time too, and how large Envoy's table becomes.
func TestCopiesCost(t *testing.T) {
	if os.Getenv("LIMPET_LONG") == "" {
		t.Skip("make bench-copies measures that")
	}
	fmt.Printf("\n| %d rules of three backends | processor of the server, s | live, s | routes | clusters | table of routes, MB |\n"+
		"|---|---:|---:|---:|---:|---:|\n", splitRules)
	for _, route := range []string{"HTTPRoute", "VirtualService"} {
		measureCopies(t, route+"s as they are written", route, func([]object) []object { return nil })
		measureCopies(t, route+"s with copies", route, nil)
	}
}

// measureCopies prints what a discovery server with all of the rules costs until its Envoy serves the last.
func measureCopies(t *testing.T, what, route string, change func([]object) []object) {
	t.Run(what, func(t *testing.T) {
		s := split{
			route: route, filter: "wasm", weights: [3]int{60, 30, 10}, change: change,
			input: func(text string) string { return manySplits(t, text, route) },
		}
		d := s.deploy(t, &canary{})
		istio, kubernetes := sorted(t, d.input, d.compile(t))
		began, before := time.Now(), processorTime(t)
		m := serve(t, d, istio, kubernetes)
		eventually(t, "the last rule is served", func() bool {
			a, err := m.newClient().try(fmt.Sprintf("/cart/%d/", splitRules-1))
			return err == nil && a.status == http.StatusOK
		})
		live, spent := time.Since(began), processorTime(t)-before
		table := m.envoy.get(t, "/config_dump?resource=dynamic_route_configs")
		fmt.Printf("| %s | %.1f | %.1f | %d | %d | %.1f |\n", what, spent.Seconds(), live.Seconds(), strings.Count(table, `"match": {`),
			strings.Count(m.envoy.get(t, "/clusters"), "::default_priority::max_connections::"), float64(len(table))/1e6)
	})
}

// manySplits writes the split rule of the cart many times, four in a route.
func manySplits(t *testing.T, text, kind string) string {
	t.Helper()
	var all []object
	for _, o := range documents(t, text) {
		switch o["kind"] {
		case kind:
			for route := range splitRules / 4 {
				all = append(all, fourSplits(t, o, route))
			}
		case "SessionPersistencePolicy":
			for route := range splitRules / 4 {
				one := copyOf(t, o)
				one["metadata"].(object)["name"] = fmt.Sprint("r", route)
				ref := one["spec"].(object)["targetRefs"].([]any)[0].(object)
				ref["name"] = fmt.Sprint("r", route)
				delete(ref, "sectionName")
				all = append(all, one)
			}
		default:
			all = append(all, o)
		}
	}
	return dump(t, all)
}

// fourSplits is a route with four of the rules.
func fourSplits(t *testing.T, of object, route int) object {
	t.Helper()
	one := copyOf(t, of)
	one["metadata"].(object)["name"] = fmt.Sprint("r", route)
	spec, key := one["spec"].(object), "rules"
	if of["kind"] == "VirtualService" {
		key = "http"
	}
	var rules []any
	for i := range 4 {
		path := fmt.Sprintf("/cart/%d/", 4*route+i)
		rule := copyOf(t, spec[key].([]any)[0].(object))
		rule["name"] = fmt.Sprintf("r%d-%d", route, i)
		if key == "http" {
			rule["match"] = []any{object{"uri": object{"prefix": path}}}
		} else {
			rule["matches"] = []any{object{"path": object{"value": path}}}
		}
		rules = append(rules, rule)
	}
	spec[key] = rules
	return one
}

func copyOf(t *testing.T, o object) object {
	t.Helper()
	return documents(t, dump(t, []object{o}))[0]
}

// processorTime is what this process, and so the discovery server in it, has taken.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
