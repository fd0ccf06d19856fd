package serve

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// collector takes spans.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	spans chan *tracev1.Span
}

func (c *collector) Export(_ context.Context, r *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans <- span
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// TestTraces: a change is a span, and what Envoys acknowledge of it are its children; of nothing there is no trace, and a collector that
// takes none holds up nothing.
func TestTraces(t *testing.T) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{spans: make(chan *tracev1.Span, 10)}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(at) }()
	defer server.Stop()
	traces, err := NewTraces(t.Context(), at.Addr().String(), true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	followed, _ := newController(t)
	followed.Published = traces.Compiled
	if _, err := followed.Start(); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	traces.Compiled("default/one", since, "g")
	traces.Staged(xds.ClientStatus{Gateway: "default/one", Node: "edge"}, "routes", since, time.Second)
	names := map[string]*tracev1.Span{}
	var all []string
	for range 4 {
		select {
		case span := <-c.spans:
			all = append(all, span.GetName())
			names[span.GetName()] = span
		case <-time.After(2 * time.Minute):
			t.Fatalf("spans are %v", all)
		}
	}
	if got := strings.Join(all, ", "); got != "change, change, change, acknowledged routes" {
		t.Errorf("spans are %s", got)
	}
	change, stage := names["change"], names["acknowledged routes"]
	if string(stage.GetParentSpanId()) != string(change.GetSpanId()) || string(stage.GetTraceId()) != string(change.GetTraceId()) {
		t.Error("what an Envoy acknowledges is not of the change's trace")
	}
	if took := stage.GetEndTimeUnixNano() - stage.GetStartTimeUnixNano(); took != uint64(time.Second) {
		t.Errorf("the stage took %d ns", took)
	}

	var none *Traces
	none.Compiled("default/one", since, "g")
	none.Staged(xds.ClientStatus{}, "routes", since, 0)
	for range 2 * maxSpans {
		traces.Compiled("default/one", since, "g")
	}
}
