package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// collector takes spans as OpenTelemetry's collector does, OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracev1.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var sent tracev1.TracesData // has the fields of a collector's request
		if err != nil || proto.Unmarshal(text, &sent) != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range sent.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// traced waits for the span of the request with that user agent, and gives its attributes.
func (c *collector) traced(t *testing.T, agent string) map[string]any {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		spans := c.spans
		c.mu.Unlock()
		for _, s := range spans {
			if attributes := readAttributes(s.Attributes); attributes["user_agent"] == agent {
				return attributes
			}
		}
	}
	t.Fatalf("no span for %s among %v", agent, c.spans)
	return nil
}

func readAttributes(all []*commonv1.KeyValue) map[string]any {
	attributes := map[string]any{}
	for _, a := range all {
		attributes[a.Key] = a.Value.GetStringValue()
	}
	return attributes
}

// trace has Envoy send a span of each request to a collector, with what the filter publishes as attributes: what a control plane
// makes of the custom tags that its users write.
func trace(tree harness.Tree, c *collector, attributes map[string]string) {
	static := tree["static_resources"].(map[string]any)
	host, port, _ := net.SplitHostPort(c.Listener.Addr().String())
	static["clusters"] = append(static["clusters"].([]any), map[string]any{
		"name": "collector", "type": "STATIC", "load_assignment": map[string]any{
			"cluster_name": "collector", "endpoints": []any{map[string]any{"lb_endpoints": []any{map[string]any{"endpoint": map[string]any{
				"address": map[string]any{"socket_address": map[string]any{"address": host, "port_value": port}},
			}}}}},
		},
	})
	layer := tree["layered_runtime"].(map[string]any)["layers"].([]any)[0].(map[string]any)["static_layer"].(map[string]any)
	layer["tracing.opentelemetry.min_flush_spans"] = 1 // at once, not in five seconds
	tags := []any{}
	for name, value := range attributes {
		tags = append(tags, map[string]any{"tag": name, "value": value})
	}
	for _, manager := range tree.Find(func(m map[string]any) bool { return m["http_filters"] != nil }) {
		manager["tracing"] = map[string]any{
			"custom_tags": tags,
			"provider": map[string]any{"name": "envoy.tracers.opentelemetry", "typed_config": map[string]any{
				"@type":        "type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig",
				"service_name": "edge",
				"http_service": map[string]any{"http_uri": map[string]any{"uri": c.URL + "/v1/traces", "cluster": "collector", "timeout": "1s"}},
			}},
		}
	}
}

// TestTraceAttributes: what became of a session is an attribute of its request's span, as docs/operations.md has it.
//
// requirements: S78
func TestTraceAttributes(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "sound"))
	deployment.Documents.Services = append(deployment.Documents.Services, harness.Service{Name: "sound", Backends: pods[:1]})
	c := newCollector(t)
	deployment.Flags = telemetryFlags
	deployment.Tree = func(tree harness.Tree) {
		attributes := map[string]string{}
		for _, name := range []string{"outcome", "policy", "age", "host", "reason", "session"} {
			attributes["limpet."+name] = harness.FilterState("limpet_" + name)
		}
		trace(tree, c, attributes)
	}
	envoy, lost := lostHosts(t, deployment, pods)
	client := envoy.Client()
	policy := envoy.Policy(t, "cart").Name
	visit(t, client, "/cart", "User-Agent: begins")
	begun := c.traced(t, "begins")
	logLine(begun).want(t, map[string]any{"limpet.outcome": "new", "limpet.policy": policy, "limpet.reason": nil})
	if digest, _ := begun["limpet.session"].(string); len(digest) != 16 {
		t.Errorf("the session's digest is %q", digest)
	}
	visit(t, client, "/cart", "User-Agent: stays")
	logLine(c.traced(t, "stays")).want(t, map[string]any{
		"limpet.outcome": "pinned", "limpet.host": pods[0].Address, "limpet.session": begun["limpet.session"],
	})
	text := mint(t, envoy, "cart", lost["refuses"], harness.Dates{Issued: -time.Minute})
	visit(t, envoy.Stranger(), "/cart", cookieLine("cart", text), "User-Agent: moves")
	logLine(c.traced(t, "moves")).want(t, map[string]any{
		"limpet.outcome": "moved", "limpet.reason": "host-refused", "limpet.host": lost["refuses"],
	})
	visit(t, client, "/plain", "User-Agent: plain")
	logLine(c.traced(t, "plain")).want(t, map[string]any{"limpet.outcome": nil, "limpet.policy": nil, "http.status_code": "200"})
}
