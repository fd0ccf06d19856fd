package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// Traces sends a trace of each change to a collector, over OTLP: from the sign of it until it is compiled, and until
// each Envoy has acknowledged each of its stages. What a collector does not take in time is dropped, and holds up
// nothing.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// maxSpans is how many wait to be sent, sendEvery how often they are, and sendFor how long that may take.
const (
	maxSpans  = 4096
	sendEvery = time.Second
	sendFor   = 5 * time.Second
)

// NewTraces makes what sends to a collector at a host and port, in the clear if it is on this machine.
func NewTraces(ctx context.Context, collector string, isLocal bool, log *slog.Logger) (*Traces, error) {
	secured := otlptracegrpc.WithTLSCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
	if isLocal {
		secured = otlptracegrpc.WithInsecure()
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(collector), secured)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(&tellOnce{log: log})
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter,
			sdktrace.WithMaxQueueSize(maxSpans), sdktrace.WithBatchTimeout(sendEvery), sdktrace.WithExportTimeout(sendFor)),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithIDGenerator(changeIDs{}),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "limpet"))),
	)
	return &Traces{provider, provider.Tracer("limpet-proxy/limpet")}, nil
}

// tellOnce tells of what goes wrong, of the same once.
type tellOnce struct {
	log      *slog.Logger
	lock     sync.Mutex
	reported string
}

// Handle is otel.ErrorHandler's.
func (o *tellOnce) Handle(err error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if err.Error() != o.reported {
		o.reported = err.Error()
		o.log.Warn("traces can't be sent, and are dropped", "reason", err)
	}
}

// End sends what waits, when the context of all else has ended.
func (t *Traces) End(ctx context.Context) {
	<-ctx.Done()
	within, stop := context.WithTimeout(context.Background(), sendFor)
	defer stop()
	_ = t.provider.Shutdown(within)
}

// Compiled says that a Gateway's configuration was compiled for a change that was seen then.
func (t *Traces) Compiled(gateway string, since time.Time, generation string) {
	if t == nil {
		return
	}
	ctx := context.WithValue(context.Background(), changeKey{}, identify(gateway, since))
	_, span := t.tracer.Start(ctx, "change", trace.WithTimestamp(since), trace.WithAttributes(
		attribute.String("limpet.gateway", gateway), attribute.String("limpet.generation", generation),
	))
	span.End()
}

// Staged says that an Envoy has acknowledged a stage of a change.
func (t *Traces) Staged(c xds.ClientStatus, stage string, since time.Time, took time.Duration) {
	if t == nil {
		return
	}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), identify(c.Gateway, since))
	_, span := t.tracer.Start(ctx, "acknowledged "+stage, trace.WithTimestamp(since), trace.WithAttributes(
		attribute.String("limpet.gateway", c.Gateway), attribute.String("limpet.envoy", c.Node),
		attribute.String("network.peer.address", c.Address),
	))
	span.End(trace.WithTimestamp(since.Add(took)))
}

// identify gives a change's trace and first span, which all its spans have in common.
func identify(gateway string, since time.Time) trace.SpanContext {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", gateway, since.UnixNano()))
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24]), TraceFlags: trace.FlagsSampled,
	})
}

// changeKey is where a context has which change a trace begins with.
type changeKey struct{}

// changeIDs names a change as identify does, and all other spans at random.
type changeIDs struct{}

// NewIDs is sdktrace.IDGenerator's.
func (changeIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	change, _ := ctx.Value(changeKey{}).(trace.SpanContext)
	return change.TraceID(), change.SpanID()
}

// NewSpanID is sdktrace.IDGenerator's.
func (changeIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}
