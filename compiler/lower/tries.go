package lower

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/gateway"
	"github.com/limpet-proxy/limpet/compiler/ir"
)

// tries gives an action the times and retries that its rule asks for (GEP-1742, GEP-1731; S73). Sessions that shall not
// move are not tried elsewhere (S40), which is reported where the rule wants it.
func (l *lowerer) tries(route *gateway.Route, path *field.Path, action *ir.Route, rule *gatewayv1.HTTPRouteRule) {
	if t := rule.Timeouts; t != nil {
		action.Timeout, action.TryTimeout = span(t.Request), span(t.BackendRequest)
	}
	if rule.Retry == nil {
		return
	}
	path = path.Child("retry")
	var kept []string
	for _, s := range action.Split {
		if s.FailStatus != 0 {
			kept = append(kept, s.Cluster)
		}
	}
	switch {
	case !action.Lax():
		l.rep.WarnAt(route, path.String(), "not carried: with onHostLost: Fail sessions stay with their host, and Envoy takes a request that it tries again off that host")
		return
	case len(kept) > 0:
		l.rep.WarnAt(route, path.String(), "not carried for "+strings.Join(kept, ", ")+": with onHostLost: Fail its sessions stay with their host, and Envoy takes a request that it tries again off that host")
	}
	action.Retry = retry(rule.Retry)
	if b := action.Retry.Backoff; b != nil && *b > 0 {
		l.rep.WarnAt(route, path.Child("backoff").String(), "not carried as the least wait: Envoy waits a random time of up to that, doubled for each further retry, up to ten times as long")
	}
}

// retry reads a rule's retries. Attempts beyond what the narrower type holds are as many as nobody lives to see.
func retry(spec *gatewayv1.HTTPRouteRetry) *ir.Retry {
	r := &ir.Retry{}
	for _, code := range spec.Codes {
		r.Codes = append(r.Codes, int(code))
	}
	slices.Sort(r.Codes)
	if spec.Attempts != nil {
		attempts := uint32(min(int64(*spec.Attempts), math.MaxUint32))
		r.Attempts = &attempts
	}
	if spec.Backoff != nil {
		backoff := span(spec.Backoff)
		r.Backoff = &backoff
	}
	return r
}

// span reads a duration that the CRD's pattern has let through, which Go reads too; without one it is 0.
func span(text *gatewayv1.Duration) time.Duration {
	if text == nil {
		return 0
	}
	d, err := time.ParseDuration(string(*text))
	if err != nil {
		return 0
	}
	return d
}
