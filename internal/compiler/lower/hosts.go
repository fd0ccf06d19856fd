package lower

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// hosts is what is expected of a choice's hosts. Envoy takes no gRPC health check for hosts that speak HTTP/1.1.
func (c *choice) hosts() ir.HostPolicy {
	hosts := c.outcome.Hosts()
	check := hosts.HealthCheck
	switch {
	case check == nil:
	case check.GRPC != nil && !c.http2:
		hosts.HealthCheck = nil
	case check.HTTP != nil && check.HTTP.Host == "":
		asked, request := *check, *check.HTTP
		request.Host = c.backend.Object.Name + "." + c.backend.Object.Namespace
		asked.HTTP = &request
		hosts.HealthCheck = &asked
	}
	return hosts
}

// checkHosts reports gRPC health checks of backends that have no gRPC.
func (l *lowerer) checkHosts(rule string, choices []choice) {
	for i := range choices {
		c := &choices[i]
		if c.backend == nil || c.http2 {
			continue
		}
		if check := c.outcome.Hosts().HealthCheck; check != nil && check.GRPC != nil {
			c.outcome.Policy.WarnAt(l.rep, "healthCheck", fmt.Sprintf(
				"in %s backend %s speaks HTTP/1.1, and gRPC needs HTTP/2: its hosts are not asked", rule, c.backend.Name))
		}
	}
}

// hostsOfSplit is what is expected of the hosts of a split under one session. The proxy's own answers, in the place of
// a backend that has no host, are errors: outlier detection would take them out and give their share to the others.
func (l *lowerer) hostsOfSplit(route *gateway.Route, path *field.Path, first choice, choices []choice) ir.HostPolicy {
	hosts := first.hosts()
	answers := func(c choice) bool { return c.weight > 0 && (c.backend == nil || !c.backend.Ready()) }
	if hosts.OutlierDetection != nil && slices.ContainsFunc(choices, answers) {
		hosts.OutlierDetection = nil
		l.rep.Advise(report.OutlierWaits, route, path.Child("backendRefs"), fmt.Sprintf(
			"outlierDetection of %s waits until every backend has a host: it would take out the errors that stand for one",
			first.outcome.Policy.Name))
	}
	return hosts
}

// likeService gives a choice all that policies on the Service say. It is for mirrors and connections, which have no
// rule of their own: HTTP rules may share their cluster, which has one form.
func (l *lowerer) likeService(c choice) choice {
	if c.backend == nil {
		return c
	}
	c.outcome = l.LoadBalancing.OfService(c.backend.Target())
	if effective := l.RetryBudgets.For(c.backend.Service); effective != nil {
		c.budget = effective.Budget
	}
	return c
}
