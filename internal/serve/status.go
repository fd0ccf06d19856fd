package serve

import (
	"crypto/tls"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// State says how an Envoy stands to its Gateway's configuration.
func (s Status) State(e xds.ClientStatus) string {
	generation, isThere := s.generationOf(e.Gateway)
	switch {
	case !isThere:
		return "there is no such Gateway"
	case len(e.Rejected) > 0:
		return "rejected"
	case e.Late != "":
		return "late: " + e.Late
	case e.Generation == generation:
		return "current"
	default:
		return "in progress"
	}
}

// HasEnvoy tells whether an Envoy of a Gateway is connected.
func (s Status) HasEnvoy(gateway string) bool {
	return slices.ContainsFunc(s.Envoys, func(e xds.ClientStatus) bool { return e.Gateway == gateway })
}

func (s Status) generationOf(gateway string) (generation string, isThere bool) {
	for _, g := range s.Gateways {
		if g.Gateway == gateway {
			return g.Generation, true
		}
	}
	return "", false
}

// Statuses are those of replicas, each of which has some of the Envoys.
type Statuses []Status

// HasEnvoy tells whether an Envoy of a Gateway is connected to any.
func (all Statuses) HasEnvoy(gateway string) bool {
	return slices.ContainsFunc(all, func(s Status) bool { return s.HasEnvoy(gateway) })
}

// IsComplete tells whether all of the input is in effect, each Gateway has an Envoy, and every Envoy has everything.
func (all Statuses) IsComplete() bool {
	return !slices.ContainsFunc(all, func(s Status) bool {
		return len(s.Input.Refused) > 0 ||
			slices.ContainsFunc(s.Gateways, func(g GatewayStatus) bool { return !all.HasEnvoy(g.Gateway) }) ||
			slices.ContainsFunc(s.Envoys, func(e xds.ClientStatus) bool { return s.State(e) != "current" })
	})
}

// NewRPC makes a gRPC server for Envoys; without TLS if there is no configuration. An Envoy that has vanished without a
// word is missed within a minute. Age and deadline are those of the xds.Options: where streams end with their age, so
// do connections. From four fifths of the age on a connection takes no new streams, so that its Envoy reconnects, is
// authenticated again, and may find another replica. An Envoy that owes an answer then, and goes on owing it, is cut
// off.
func NewRPC(config *tls.Config, age, deadline time.Duration) *grpc.Server {
	alive := keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}
	if age > 0 {
		alive.MaxConnectionAge = age * 7 / 10 // give or take a tenth of that, says gRPC
		alive.MaxConnectionAgeGrace = age*6/10 + 2*deadline
	}
	options := []grpc.ServerOption{
		grpc.KeepaliveParams(alive),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.MaxConcurrentStreams(1), // of one connection: an Envoy has one
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxHeaderListSize(maxHeaders), grpc.ConnectionTimeout(handshakeWithin),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window), grpc.ReadBufferSize(readBuffer),
		grpc.StatsHandler(compression{}), grpc.StreamInterceptor(refuseCompressed),
	}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	return grpc.NewServer(options...)
}

const (
	// maxRequest is the size of the largest request that is read: an Envoy that reconnects lists all that it has.
	maxRequest = 32 << 20
	// maxHeaders is that of headers, a token among them, and window what may come of a request before it is read: the
	// least there is.
	maxHeaders = 16 << 10
	window     = 64<<10 - 1
	readBuffer = 4 << 10
	// handshakeWithin is how long it may take until a connection speaks HTTP.
	handshakeWithin = 10 * time.Second
)

// RegisterInput makes the metrics of an input: its errors that are not in effect, and its keys' fingerprint as it is in
// those of filters with these keys, 0 where Envoys have their own.
func RegisterInput(to prometheus.Registerer, of Input) {
	to.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "limpet_input_errors",
		Help: "Errors by which some of the input is not in effect; what was good before is served in its place.",
	}, func() float64 { return float64(len(of.Status().Refused)) }))
	to.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: policyconfig.KeysGauge, Help: "Fingerprint of the key ring that Envoys are served.",
	}, func() float64 { return float64(of.Keys().Gauge) }))
}

// The results of a compilation.
const compiledOK, compiledRefused = "ok", "refused"

// NewCompileMetrics makes the metrics of compilations, and the function that updates them.
func NewCompileMetrics(to prometheus.Registerer) func(time.Duration, error) {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "limpet_compile_seconds", Help: "How long a compilation took, by what became of it.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"result"})
	for _, result := range []string{compiledOK, compiledRefused} {
		seconds.WithLabelValues(result)
	}
	to.MustRegister(seconds)
	return func(took time.Duration, err error) {
		result := compiledOK
		if err != nil {
			result = compiledRefused
		}
		seconds.WithLabelValues(result).Observe(took.Seconds())
	}
}
