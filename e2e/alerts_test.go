package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

const alertRules = "deploy/chart/limpet/alerts/limpet.yaml"

// alertCases make the causes of alerts happen: each sets a scene in which none fires, and gives what reads its pages of metrics, by what
// Prometheus would call their instance, and what makes the alert fire.
var alertCases = map[string]func(*testing.T) (pages func() map[string]string, cause func()){
	"LimpetInputErrors": func(t *testing.T) (func() map[string]string, func()) {
		s, pages := alertedServe(t)
		return pages, func() {
			s.WriteFile(t, "more.yaml", "{")
			eventually(t, "the error is counted", func() bool { return s.Metric(t, "limpet_input_errors") > 0 })
		}
	},
	"LimpetEnvoyRejects": func(t *testing.T) (func() map[string]string, func()) {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = taken.Close() })
		s, pages := alertedServe(t)
		return pages, func() {
			s.WriteFile(t, "documents.yaml", strings.Replace(s.Documents.YAML(t), "  - {name: http, protocol: HTTP, port:", fmt.Sprintf(
				"  - {name: taken, protocol: HTTP, port: %d}\n  - {name: http, protocol: HTTP, port:", taken.Addr().(*net.TCPAddr).Port), 1))
			eventually(t, "Envoy rejects it", func() bool { return s.Metric(t, "limpet_xds_nacks_total") > 0 })
		}
	},
	"LimpetEnvoyLate": func(t *testing.T) (func() map[string]string, func()) {
		s, pages := alertedServe(t, "--ack-deadline", "300ms")
		return pages, func() {
			hung, err := dialServe(t, s.Listen, insecure.NewCredentials())
			if err != nil {
				t.Fatal(err)
			}
			was := s.Metric(t, "limpet_xds_late_total") // Envoy itself may have been, on a busy machine
			ask(t, hung, "hung", harness.EdgeGateway)
			eventually(t, "it is late", func() bool { return s.Metric(t, "limpet_xds_late_total") > was })
		}
	},
	"LimpetNoEnvoy": func(t *testing.T) (func() map[string]string, func()) {
		s, pages := alertedServe(t)
		another(t, s)
		return pages, func() {
			s.envoy.Stop()
			eventually(t, "it is gone", func() bool { return s.Metric(t, "limpet_xds_streams") == 1 })
		}
	},
	"LimpetClientRefused": func(t *testing.T) (func() map[string]string, func()) {
		s, pages := alertedServe(t)
		return pages, func() {
			if _, err := exchange(t, s.Listen, insecure.NewCredentials(), "no Gateway's name"); err == nil {
				t.Error("a stranger is served")
			}
			eventually(t, "it is counted", func() bool { return s.Metric(t, "limpet_xds_refused_total") > 0 })
		}
	},
	"LimpetEnvoyCutOff": func(t *testing.T) (func() map[string]string, func()) {
		s, pages := alertedServe(t)
		return pages, func() {
			greedy, err := dialServe(t, s.Listen, insecure.NewCredentials())
			if err != nil {
				t.Fatal(err)
			}
			was, request := s.Metric(t, "limpet_xds_excess_total"), newRequest("greedy", harness.EdgeGateway)
			ask(t, greedy, "greedy", harness.EdgeGateway)
			request.ResourceNamesSubscribe = []string{strings.Repeat("a", 4<<20)}
			_ = greedy.Send(request)
			eventually(t, "it is cut off", func() bool { return s.Metric(t, "limpet_xds_excess_total") > was })
		}
	},
	"LimpetKeysDiffer": func(t *testing.T) (func() map[string]string, func()) {
		pods, envoys := harness.Backends(t, "a"), map[string]*harness.Envoy{}
		ring := harness.NewRing("first")
		start := func(name string, keys harness.Ring) {
			envoys[name] = harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods")), Keys: keys})
		}
		start("one", ring)
		start("two", ring)
		return envoyPages(t, envoys), func() { start("two", harness.NewRing("first")) }
	},
	"LimpetTokensRefused": func(t *testing.T) (func() map[string]string, func()) {
		pods, deployment := threePods(t, harness.CookieRule("cart", "pods"))
		envoy := harness.Run(t, deployment)
		stay(t, envoy.Client(), "/cart", 5)
		text := harness.NewRing("another").Mint(t, envoy.Policy(t, "cart").Scope, pods[0].Address, harness.Dates{})
		return envoyPages(t, map[string]*harness.Envoy{"one": envoy}), func() {
			spread(t, envoy.Stranger(), "/cart", 5, cookieLine("cart", text))
		}
	},
	"LimpetSessionsMove": func(t *testing.T) (func() map[string]string, func()) {
		_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
		envoy := harness.Run(t, deployment)
		stay(t, envoy.Client(), "/cart", 5)
		text := mint(t, envoy, "cart", goneAddress, harness.Dates{})
		return envoyPages(t, map[string]*harness.Envoy{"one": envoy}), func() {
			spread(t, envoy.Stranger(), "/cart", 5, cookieLine("cart", text))
		}
	},
	"LimpetUnpinned": func(t *testing.T) (func() map[string]string, func()) {
		envoy := runByHand(t, func(chain string) string {
			return cutLines(chain, "          - name: pin\n", "          - { name: router")
		})
		return envoyPages(t, map[string]*harness.Envoy{"one": envoy}), func() { visit(t, envoy.Stranger(), "/") }
	},
	"LimpetUnfenced": func(t *testing.T) (func() map[string]string, func()) {
		envoy := runByHand(t, func(chain string) string {
			chain = strings.Replace(chain, `"routes":["shop"]`, `"routes":["other"]`, 1)
			return cutLines(chain, "          - name: fence\n", "          - name: limpet\n")
		})
		return envoyPages(t, map[string]*harness.Envoy{"one": envoy}), func() {
			visit(t, envoy.Stranger(), "/", "X-Limpet-Pin: MTI3LjAuMC4xOjk=")
		}
	},
}

// TestAlerts: each alert fires when its cause has happened, by what the metrics say then, and no other does; before, none fires.
func TestAlerts(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`(?m)^  - alert: (\w+)$`).FindAllStringSubmatch(harness.ReadDocument(t, alertRules), -1)
	if len(names) != len(alertCases) {
		t.Errorf("%d alerts, and %d causes", len(names), len(alertCases))
	}
	for _, name := range names {
		t.Run(name[1], func(t *testing.T) {
			t.Parallel()
			set, known := alertCases[name[1]]
			if !known {
				t.Fatal("nothing makes its cause happen")
			}
			pages, cause := set(t)
			scrapes := []map[string]string{seriesOf(pages())}
			for range 2 { // a counter that comes with its first event shows no increase before the second
				cause()
				scrapes = append(scrapes, seriesOf(pages()))
			}
			checkAlert(t, name[1], scrapes)
		})
	}
}

// TestSeriesAreThereFromTheStart: what rules name of limpet serve is there before anything has happened: a counter that begins at 1 has no
// increase.
func TestSeriesAreThereFromTheStart(t *testing.T) {
	s := harness.Serve(t, harness.OneRoute(harness.Backends(t, "a"), harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	page := "\n" + readServe(t, s, "/metrics")
	names := regexp.MustCompile(`\blimpet_(?:xds|input)_\w+`).FindAllString(harness.ReadDocument(t, alertRules), -1)
	if len(names) < 6 {
		t.Errorf("%q are of limpet serve", names)
	}
	for _, name := range append(names, "limpet_xds_unknown_ended_total") {
		if !strings.Contains(page, "\n"+name+"{") && !strings.Contains(page, "\n"+name+" ") {
			t.Errorf("limpet serve has no %s before the first event", name)
		}
	}
}

// alerted is a limpet serve with an Envoy.
type alerted struct {
	*harness.Serving
	envoy *harness.Envoy
}

func alertedServe(t *testing.T, flags ...string) (*alerted, func() map[string]string) {
	t.Helper()
	s := harness.Serve(t, harness.OneRoute(harness.Backends(t, "a"), harness.CookieRule("cart", "pods")), harness.NewRing("k"), flags...)
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	return &alerted{s, envoy}, func() map[string]string { return map[string]string{"limpet": readServe(t, s, "/metrics")} }
}

// another adds a Gateway with an Envoy of its own.
func another(t *testing.T, s *alerted) {
	t.Helper()
	port := harness.FreePort(t)
	s.WriteFile(t, "another.yaml", fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: another, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: http, protocol: HTTP, port: %d}]
`, port))
	s.BootstrapOf(t, "default/another", port, "").Start(t)
	s.AwaitAcknowledged(t)
	eventually(t, "both Envoys are connected", func() bool { return s.Metric(t, "limpet_xds_streams") == 2 })
}

func envoyPages(t *testing.T, envoys map[string]*harness.Envoy) func() map[string]string {
	return func() map[string]string {
		pages := map[string]string{}
		for name, envoy := range envoys {
			pages[name] = envoy.Admin(t, "/stats/prometheus")
		}
		return pages
	}
}

// runByHand runs the Envoy that docs/plugin-config.md begins with, with what the page has for Prometheus, and a mistake.
func runByHand(t *testing.T, mistake func(string) string) *harness.Envoy {
	t.Helper()
	if harness.Native() {
		t.Skip("the page has limpet.wasm")
	}
	pods := harness.Backends(t, "a", "b")
	var text string
	for i, block := range harness.Blocks(t, "docs/plugin-config.md") {
		if i == 0 || strings.HasPrefix(block.Text, "stats_config:\n") {
			text += block.Text
		}
	}
	changed := mistake(text)
	if changed == text {
		t.Fatal("the page has another form")
	}
	return harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods")), Tree: func(tree harness.Tree) {
		admin, listeners := tree["admin"], listenersOf(tree)
		clear(tree)
		for old, now := range map[string]string{
			"18081": fmt.Sprint(pods[0].Port()), "18082": fmt.Sprint(pods[1].Port()), "dist/limpet.wasm": harness.Find(t).Wasm,
		} {
			changed = strings.ReplaceAll(changed, old, now)
		}
		if err := yaml.Unmarshal([]byte(changed), (*map[string]any)(&tree)); err != nil {
			t.Fatal(err)
		}
		tree["admin"] = admin
		listenersOf(tree)[0].(map[string]any)["address"] = listeners[0].(map[string]any)["address"]
	}})
}

func listenersOf(tree harness.Tree) []any {
	return tree["static_resources"].(map[string]any)["listeners"].([]any)
}

// cutLines takes out what is from a line up to another.
func cutLines(text, from, to string) string {
	before, rest, _ := strings.Cut(text, from)
	_, after, found := strings.Cut(rest, to)
	if !found {
		return text
	}
	return before + to + after
}

// checkAlert has promtool judge the rules by three scrapes: the first for six minutes, the second, and the last for forty more.
func checkAlert(t *testing.T, alert string, scrapes []map[string]string) {
	t.Helper()
	promtool, err := exec.LookPath(os.Getenv("PROMTOOL"))
	if err != nil {
		harness.Missing(t, "the environment variable PROMTOOL names no program")
	}
	type series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	var input []series
	for _, name := range slices.Sorted(maps.Keys(scrapes[2])) {
		values := ""
		for i, more := range []string{"x5", "x0", "x40"} {
			switch value := scrapes[i][name]; {
			case value != "":
				values += value + "+0" + more + " "
			case i == 0:
				values += "_x6 "
			default:
				values += "_ "
			}
		}
		input = append(input, series{name, values})
	}
	type sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	firing := func(at string, samples ...sample) map[string]any {
		return map[string]any{"expr": `group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1h]))`, "eval_time": at, "exp_samples": samples}
	}
	text, err := yaml.Marshal(map[string]any{
		"rule_files": []string{harness.Root(t) + "/" + alertRules}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{
			"interval": "1m", "input_series": input,
			"promql_expr_test": []any{firing("5m"), firing("45m", sample{`{alertname="` + alert + `"}`, 1})},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if output, err := exec.CommandContext(ctx, promtool, "test", "rules", writeFile(t, "alert.yaml", string(text))).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// seriesOf are the series of limpet's own in pages, and their values.
func seriesOf(pages map[string]string) map[string]string {
	found := map[string]string{}
	for instance, page := range pages {
		for line := range strings.Lines(page) {
			at := strings.LastIndexByte(line, ' ')
			name, labels, _ := strings.Cut(strings.TrimSuffix(line[:max(at, 0)], "}"), "{")
			if strings.HasPrefix(line, "#") || !strings.Contains(name, "limpet_") {
				continue
			}
			if labels != "" {
				labels = "," + labels
			}
			found[name+`{instance="`+instance+`"`+strings.TrimSuffix(labels, ",")+"}"] = strings.TrimSpace(line[at:])
		}
	}
	return found
}

// needAPIServer are the metrics of a limpet that follows an API server; TestWriteMetrics of internal/kubernetes has theirs.
var needAPIServer = regexp.MustCompile("^limpet_(status|memory|cache)_")

// TestMetricsFromTheStart: the counters and gauges that alerts and docs/serve.md name are there before anything has happened, for a counter
// that comes with its first event shows no increase.
func TestMetricsFromTheStart(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^[|] (`limpet_[^|]*) [|] [^h]").FindAllStringSubmatch(harness.ReadDocument(t, "docs/serve.md"), -1) {
		for _, name := range regexp.MustCompile("`(limpet_[a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			names[name[1]] = true
		}
	}
	for _, name := range regexp.MustCompile(`\((limpet_(?:xds|input)_[a-z_]+)[)\[]`).FindAllStringSubmatch(harness.ReadDocument(t, alertRules), -1) {
		names[name[1]] = true
	}
	if len(names) < 12 {
		t.Fatalf("only %d metrics: %v", len(names), names)
	}
	s := harness.Serve(t, harness.OneRoute(harness.Backends(t, "a"), harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	page := readServe(t, s, "/metrics")
	for name := range names {
		there := regexp.MustCompile(`(?m)^` + name + `(\{.*\})? `).MatchString(page)
		if !there && !needAPIServer.MatchString(name) {
			t.Errorf("%s is not there at the start", name)
		}
	}
}
