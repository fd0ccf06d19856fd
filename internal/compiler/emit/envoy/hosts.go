package envoy

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// applyHostPolicy says in a cluster what is expected of its hosts. For a host that fails it Envoy follows no pin, for
// its state is none of servesSessions: the session is lost.
func applyHostPolicy(out *clusterv3.Cluster, c *ir.Cluster) {
	if check := c.Hosts.HealthCheck; check != nil {
		out.HealthChecks = []*corev3.HealthCheck{newHealthCheck(check, c.HTTP2)}
		// Otherwise a host that is no endpoint any more stays as long as it answers, and its address may be another pod's.
		out.IgnoreHealthOnHostRemoval = true
	}
	if outlier := c.Hosts.OutlierDetection; outlier != nil {
		out.OutlierDetection = newOutlierDetection(outlier)
		if c.Hosts.HealthCheck != nil { // a good answer to a check would let a host in again at once
			out.OutlierDetection.SuccessfulActiveHealthCheckUnejectHost = wrapperspb.Bool(false)
		}
	}
	if limit := c.Hosts.MaxConnections; limit > 0 {
		out.CircuitBreakers.PerHostThresholds = []*clusterv3.CircuitBreakers_Thresholds{
			{MaxConnections: wrapperspb.UInt32(limit)},
		}
	}
	if c.Hosts.SlowStart == nil {
		return
	}
	start := newSlowStart(c.Hosts.SlowStart)
	switch c.Balancing {
	case ir.RoundRobin:
		out.LbConfig = &clusterv3.Cluster_RoundRobinLbConfig_{
			RoundRobinLbConfig: &clusterv3.Cluster_RoundRobinLbConfig{SlowStartConfig: start},
		}
	case ir.LeastRequest:
		out.LbConfig = &clusterv3.Cluster_LeastRequestLbConfig_{
			LeastRequestLbConfig: &clusterv3.Cluster_LeastRequestLbConfig{SlowStartConfig: start},
		}
	}
}

func newHealthCheck(c *ir.HealthCheck, http2 bool) *corev3.HealthCheck {
	out := &corev3.HealthCheck{
		Interval: durationpb.New(c.Interval), Timeout: durationpb.New(c.Timeout),
		// Envoy asks hosts of clusters that nothing was sent to once a minute otherwise.
		NoTrafficInterval:  durationpb.New(c.Interval),
		UnhealthyThreshold: wrapperspb.UInt32(c.UnhealthyThreshold), HealthyThreshold: wrapperspb.UInt32(c.HealthyThreshold),
	}
	switch {
	case c.HTTP != nil:
		out.HealthChecker = &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: newHTTPHealthCheck(c.HTTP, http2)}
	case c.GRPC != nil:
		out.HealthChecker = &corev3.HealthCheck_GrpcHealthCheck_{
			GrpcHealthCheck: &corev3.HealthCheck_GrpcHealthCheck{ServiceName: c.GRPC.Service},
		}
	default:
		out.HealthChecker = &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}}
	}
	return out
}

func newHTTPHealthCheck(c *ir.HTTPHealthCheck, http2 bool) *corev3.HealthCheck_HttpHealthCheck {
	out := &corev3.HealthCheck_HttpHealthCheck{
		Host: c.Host, Path: c.Path,
		// All other statuses count one by one too; Envoy takes one that is not retriable for all failures at once.
		RetriableStatuses: []*typev3.Int64Range{{Start: 100, End: 600}},
	}
	for _, status := range c.Statuses {
		out.ExpectedStatuses = append(out.ExpectedStatuses, &typev3.Int64Range{Start: int64(status), End: int64(status) + 1})
	}
	if http2 {
		out.CodecClientType = typev3.CodecClientType_HTTP2
	}
	return out
}

// always and never are shares of cases in which Envoy does what it detects, in percent.
const (
	always = 100
	never  = 0
)

func newOutlierDetection(d *ir.OutlierDetection) *clusterv3.OutlierDetection {
	enforce := func(count uint32) *wrapperspb.UInt32Value {
		if count == 0 {
			return wrapperspb.UInt32(never)
		}
		return wrapperspb.UInt32(always)
	}
	out := &clusterv3.OutlierDetection{
		EnforcingConsecutive_5Xx:           enforce(d.Consecutive5xx),
		EnforcingConsecutiveGatewayFailure: enforce(d.ConsecutiveGateway),
		EnforcingSuccessRate:               wrapperspb.UInt32(never), // by default Envoy compares hosts with each other
		Interval:                           durationpb.New(d.Interval),
		BaseEjectionTime:                   durationpb.New(d.BaseEjectionTime),
		MaxEjectionPercent:                 wrapperspb.UInt32(d.MaxEjectionPercent),
	}
	if d.Consecutive5xx > 0 {
		out.Consecutive_5Xx = wrapperspb.UInt32(d.Consecutive5xx)
	}
	if d.ConsecutiveGateway > 0 {
		out.ConsecutiveGatewayFailure = wrapperspb.UInt32(d.ConsecutiveGateway)
	}
	return out
}

func newSlowStart(s *ir.SlowStart) *clusterv3.Cluster_SlowStartConfig {
	return &clusterv3.Cluster_SlowStartConfig{
		SlowStartWindow:  durationpb.New(s.Window),
		MinWeightPercent: &typev3.Percent{Value: float64(s.MinWeightPercent)},
	}
}

// exemptFromChecks keeps what is no host of a backend from being asked.
func exemptFromChecks(e *endpointv3.LbEndpoint) *endpointv3.LbEndpoint {
	e.GetEndpoint().HealthCheckConfig = &endpointv3.Endpoint_HealthCheckConfig{DisableActiveHealthCheck: true}
	return e
}
