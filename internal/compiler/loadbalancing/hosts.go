package loadbalancing

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// The defaults: Envoy Gateway's for health checks, Envoy's for the rest. The share of hosts that may be ejected is
// larger than Envoy's: 10 percent of two hosts are none.
const (
	defaultCheckInterval      = 3 * time.Second
	defaultCheckTimeout       = time.Second
	defaultUnhealthyThreshold = 3
	defaultHealthyThreshold   = 1
	defaultHealthyStatus      = 200
	defaultConsecutive5xx     = 5
	defaultOutlierInterval    = 10 * time.Second
	defaultEjectionTime       = 30 * time.Second
	defaultMaxEjection        = 50
	defaultMinWeight          = 10
)

// HostField is a part of a policy about hosts, in words, and the path of it.
type HostField struct {
	Name, Value, Path string
}

// readHosts reads a policy's health check, outlier detection, limits and slow start. A slow start is ignored with a
// warning where the strategy has none.
func (p *Policy) readHosts(spec *v1alpha1.LoadBalancerPolicySpec, rep *report.Report) {
	p.hosts.HealthCheck = readHealthCheck(spec.HealthCheck)
	p.hosts.OutlierDetection = readOutlierDetection(spec.OutlierDetection)
	if spec.Limits != nil {
		p.hosts.MaxConnections = readNumber(&spec.Limits.MaxConnections, 0)
	}
	if spec.SlowStart == nil {
		return
	}
	if p.strategy != ir.RoundRobin && p.strategy != ir.LeastRequest {
		at := cmp.Or(p.slowStartPath, p.specPath.Child("slowStart"))
		rep.WarnForAt(report.BalancingNotHonoured, p.subject, report.ReasonPartiallyProgrammed, at.String(),
			fmt.Sprintf("ignored: the strategy %s has no slow start, RoundRobin and WeightedLeastRequest have", p.strategyName))
		return
	}
	p.hosts.SlowStart = &ir.SlowStart{
		Window:           readDuration(&spec.SlowStart.Window, 0),
		MinWeightPercent: readNumber(spec.SlowStart.MinWeightPercent, defaultMinWeight),
	}
}

func readHealthCheck(spec *v1alpha1.HealthCheck) *ir.HealthCheck {
	if spec == nil {
		return nil
	}
	check := &ir.HealthCheck{
		Interval:           readDuration(spec.Interval, defaultCheckInterval),
		Timeout:            readDuration(spec.Timeout, defaultCheckTimeout),
		UnhealthyThreshold: readNumber(spec.UnhealthyThreshold, defaultUnhealthyThreshold),
		HealthyThreshold:   readNumber(spec.HealthyThreshold, defaultHealthyThreshold),
	}
	switch {
	case spec.Type == nil || *spec.Type == v1alpha1.HealthCheckHTTP:
		check.HTTP = readHTTPCheck(spec.HTTP)
	case *spec.Type == v1alpha1.HealthCheckGRPC:
		check.GRPC = &ir.GRPCHealthCheck{}
		if spec.GRPC != nil && spec.GRPC.Service != nil {
			check.GRPC.Service = *spec.GRPC.Service
		}
	}
	return check
}

func readHTTPCheck(spec *v1alpha1.HTTPHealthCheck) *ir.HTTPHealthCheck {
	check := &ir.HTTPHealthCheck{Path: "/"}
	if spec != nil {
		if spec.Path != nil {
			check.Path = *spec.Path
		}
		if spec.Hostname != nil {
			check.Host = *spec.Hostname
		}
		for _, status := range spec.ExpectedStatuses {
			check.Statuses = append(check.Statuses, uint32(status)) // 100 to 599 by the schema
		}
	}
	if len(check.Statuses) == 0 {
		check.Statuses = []uint32{defaultHealthyStatus}
	}
	return check
}

func readOutlierDetection(spec *v1alpha1.OutlierDetection) *ir.OutlierDetection {
	if spec == nil {
		return nil
	}
	return &ir.OutlierDetection{
		Consecutive5xx:     readNumber(spec.Consecutive5xxErrors, defaultConsecutive5xx),
		ConsecutiveGateway: readNumber(spec.ConsecutiveGatewayErrors, 0),
		Interval:           readDuration(spec.Interval, defaultOutlierInterval),
		BaseEjectionTime:   readDuration(spec.BaseEjectionTime, defaultEjectionTime),
		MaxEjectionPercent: readNumber(spec.MaxEjectionPercent, defaultMaxEjection),
	}
}

// readDuration reads a duration that the schema has checked.
func readDuration(written *v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if written == nil {
		return otherwise
	}
	parsed, err := duration.Parse(string(*written))
	if err != nil {
		return otherwise
	}
	return parsed
}

func readNumber(written *int32, otherwise uint32) uint32 {
	if written == nil {
		return otherwise
	}
	return uint32(*written) // not negative, by the schema
}

// Hosts is what the effective policy says of hosts.
func (o *Outcome) Hosts() ir.HostPolicy {
	if o.Policy == nil {
		return ir.HostPolicy{}
	}
	return o.Policy.hosts
}

// HostVariant names the variant of a Service's hosts that the effective policy needs. It is empty for what the policy
// on the Service itself says, so that no name changes when such a policy comes or goes. It is "none" where that policy
// says something and the effective one nothing, and else the effective policy's name.
func (o *Outcome) HostVariant() string {
	var ofService ir.HostPolicy
	for _, c := range o.Candidates {
		if c.ofService && !c.Overridden {
			ofService = c.hosts
			break
		}
	}
	switch o.Hosts() {
	case ofService:
		return ""
	case ir.HostPolicy{}:
		return "none"
	default:
		return cmp.Or(o.Policy.variant, o.Policy.Object.Key())
	}
}

// HostFields lists in words what the effective policy says of hosts.
func (o *Outcome) HostFields() (all []HostField) {
	hosts := o.Hosts()
	add := func(name, value string) {
		all = append(all, HostField{Name: name, Value: value, Path: o.Policy.specPath.Child(name).String()})
	}
	if c := hosts.HealthCheck; c != nil {
		add("healthCheck", fmt.Sprintf("%s every %s, answered within %s; out after %d failures, in after %d successes",
			formatQuestion(c), c.Interval, c.Timeout, c.UnhealthyThreshold, c.HealthyThreshold))
		if at := o.Policy.checkPath; at != nil {
			all[0].Path = at.String()
		}
	}
	if d := hosts.OutlierDetection; d != nil {
		add("outlierDetection", fmt.Sprintf("%s in a row; out for %s, at most %d %% of the hosts, looked at every %s",
			formatErrors(d), d.BaseEjectionTime, d.MaxEjectionPercent, d.Interval))
	}
	if s := hosts.SlowStart; s != nil {
		add("slowStart", fmt.Sprintf("from %d %% to all of its share within %s", s.MinWeightPercent, s.Window))
		if at := o.Policy.slowStartPath; at != nil {
			all[len(all)-1].Path = at.String()
		}
	}
	if n := hosts.MaxConnections; n > 0 {
		add("limits", fmt.Sprintf("%d connections to each host", n))
	}
	return all
}

// formatQuestion describes the request of a health check.
func formatQuestion(c *ir.HealthCheck) string {
	switch {
	case c.HTTP != nil:
		host := ""
		if c.HTTP.Host != "" {
			host = " of " + c.HTTP.Host
		}
		return fmt.Sprintf("HTTP %s%s for %s", c.HTTP.Path, host, strings.Trim(fmt.Sprint(c.HTTP.Statuses), "[]"))
	case c.GRPC != nil:
		return strings.TrimSpace("GRPC " + c.GRPC.Service)
	default:
		return "TCP"
	}
}

func formatErrors(d *ir.OutlierDetection) string {
	var all []string
	if d.Consecutive5xx > 0 {
		all = append(all, fmt.Sprintf("%d errors", d.Consecutive5xx))
	}
	if d.ConsecutiveGateway > 0 {
		all = append(all, fmt.Sprintf("%d gateway errors", d.ConsecutiveGateway))
	}
	return strings.Join(all, " or ")
}

// WarnAt warns that a part of the policy has no effect somewhere.
func (p *Policy) WarnAt(rep *report.Report, part, message string) {
	rep.WarnForAt(
		report.BalancingNotHonoured,
		p.subject,
		report.ReasonPartiallyProgrammed,
		p.specPath.Child(part).String(),
		message,
	)
}
