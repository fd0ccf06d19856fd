package serve

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// Traces sends a trace of each change to a collector, over OTLP: from the sign of it until it is compiled, and until each Envoy has
// acknowledged each of its stages. What a collector does not take in time is dropped, and holds up nothing.
type Traces struct {
	client collectorv1.TraceServiceClient
	log    *slog.Logger
	spans  chan *tracev1.Span
}

// maxSpans is how many wait to be sent, sendEvery how often they are.
const (
	maxSpans  = 4096
	sendEvery = time.Second
	sendFor   = 5 * time.Second
)

// NewTraces makes what sends to a collector at a host and port, in the clear if it is on this machine.
func NewTraces(collector string, isLocal bool, log *slog.Logger) (*Traces, error) {
	secured := credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	if isLocal {
		secured = insecure.NewCredentials()
	}
	connection, err := grpc.NewClient(collector, grpc.WithTransportCredentials(secured))
	if err != nil {
		return nil, err
	}
	return &Traces{collectorv1.NewTraceServiceClient(connection), log, make(chan *tracev1.Span, maxSpans)}, nil
}

// Run sends until ctx ends.
func (t *Traces) Run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(sendEvery):
		}
		if err := t.send(ctx); err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			t.log.Warn("traces can't be sent, and are dropped", "reason", err)
		}
	}
}

// send sends the spans that wait.
func (t *Traces) send(ctx context.Context) error {
	var spans []*tracev1.Span
	for len(t.spans) > 0 {
		spans = append(spans, <-t.spans)
	}
	if len(spans) == 0 {
		return nil
	}
	within, stop := context.WithTimeout(ctx, sendFor)
	defer stop()
	_, err := t.client.Export(within, &collectorv1.ExportTraceServiceRequest{ResourceSpans: []*tracev1.ResourceSpans{{
		Resource:   &resourcev1.Resource{Attributes: []*commonv1.KeyValue{attribute("service.name", "limpet")}},
		ScopeSpans: []*tracev1.ScopeSpans{{Scope: &commonv1.InstrumentationScope{Name: "limpet-proxy/limpet"}, Spans: spans}},
	}}})
	return err
}

// Compiled says that a Gateway's configuration was compiled for a change that was seen then.
func (t *Traces) Compiled(gateway string, since time.Time, generation string) {
	if t == nil {
		return
	}
	trace, root := identify(gateway, since)
	t.add(&tracev1.Span{
		TraceId: trace, SpanId: root, Name: "change", Attributes: []*commonv1.KeyValue{
			attribute("limpet.gateway", gateway), attribute("limpet.generation", generation),
		},
	}, since, time.Since(since))
}

// Staged says that an Envoy has acknowledged a stage of a change.
func (t *Traces) Staged(c xds.ClientStatus, stage string, since time.Time, took time.Duration) {
	if t == nil {
		return
	}
	trace, root := identify(c.Gateway, since)
	own := sha256.Sum256(fmt.Appendf(nil, "%x %s %s %s", root, c.Node, c.Address, stage))
	t.add(&tracev1.Span{
		TraceId: trace, SpanId: own[:8], ParentSpanId: root, Name: "acknowledged " + stage, Attributes: []*commonv1.KeyValue{
			attribute("limpet.gateway", c.Gateway), attribute("limpet.envoy", c.Node), attribute("network.peer.address", c.Address),
		},
	}, since, took)
}

// add has a span sent, unless too many wait.
func (t *Traces) add(s *tracev1.Span, since time.Time, took time.Duration) {
	s.Kind = tracev1.Span_SPAN_KIND_INTERNAL
	s.StartTimeUnixNano, s.EndTimeUnixNano = uint64(since.UnixNano()), uint64(since.Add(took).UnixNano())
	select {
	case t.spans <- s:
	default:
	}
}

// identify gives a change's trace and first span, which all that is told of it has in common.
func identify(gateway string, since time.Time) (trace, root []byte) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", gateway, since.UnixNano()))
	return sum[:16], sum[16:24]
}

func attribute(key, value string) *commonv1.KeyValue {
	return &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}}
}
