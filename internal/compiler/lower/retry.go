package lower

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// RetryOutcome is what becomes of a rule's timeouts and retries.
type RetryOutcome struct {
	// Effective says that the rule's retries hold; Notes say what of them does not, each with the field that it is about.
	Effective bool
	Notes     []string
}

// reportPartial notes, and reports, what of a field of a rule does not hold.
func (l *lowerer) reportPartial(t *RetryOutcome, route *gateway.Route, rule *field.Path, name, why string) {
	l.rep.WarnAt(report.RetryNotHonoured, route, rule.Child(name).String(), why)
	t.Notes = append(t.Notes, name+": "+why)
}

// lowerRetries gives an action the timeouts and retries that its rule asks for (GEP-1742, GEP-1731; S73); nil if it
// asks for none. Sessions that must not move are not retried on other hosts (S40), which is reported where the rule
// wants it.
func (l *lowerer) lowerRetries(
	route *gateway.Route, path *field.Path, action *ir.Route, index int,
) *RetryOutcome {
	rule := &route.Value.Spec.Rules[index]
	if rule.Timeouts == nil && rule.Retry == nil {
		return nil
	}
	t := &RetryOutcome{}
	if times := rule.Timeouts; times != nil {
		action.Timeout, action.PerTryTimeout = parseDuration(times.Request), parseDuration(times.BackendRequest)
	}
	if rule.Retry == nil {
		return t
	}
	if !action.Retriable() {
		l.reportPartial(t, route, path, "retry", "not supported: "+explainNoRetry("sessions stay with their host"))
		return t
	}
	var strictClusters []string
	for _, s := range action.Split {
		if s.FailStatus != 0 {
			strictClusters = append(strictClusters, s.Cluster)
		}
	}
	if len(strictClusters) > 0 {
		l.reportPartial(t, route, path, "retry",
			"not supported for "+strings.Join(strictClusters, ", ")+": "+explainNoRetry("its sessions stay with their host"))
	}
	t.Effective, action.Retry = true, newRetry(rule.Retry)
	if on := route.ExtraOf(index).RetryOn; on != nil {
		action.Retry.On = on
	}
	l.adviseOfAnswers(t, route, path, action)
	if b := action.Retry.Backoff; b != nil && *b > 0 {
		l.reportPartial(t, route, path, "retry.backoff", "not supported as the least wait: "+
			"Envoy waits a random time of up to that, doubled for each further retry, up to ten times as long")
	}
	return t
}

// adviseOfAnswers says that what the hosts of sessions answer is not tried again elsewhere (S73).
func (l *lowerer) adviseOfAnswers(t *RetryOutcome, route *gateway.Route, rule *field.Path, action *ir.Route) {
	if !action.Sticky || len(action.Retry.Codes) == 0 && len(action.Retry.On) == 0 {
		return
	}
	why := "holds for requests that no session pins: what the host of a session answers its client gets, and the " +
		"session stays"
	if l.Native {
		why = "moves sessions: the native filter names the host of a session to Envoy in no header, by which their " +
			"requests could be told from others, and Envoy takes a request that it tries again off that host"
	}
	l.rep.Advise(report.RetryAdvice, route, rule.Child("retry", "codes"), why)
	t.Notes = append(t.Notes, "retry.codes: "+why)
}

// explainNoRetry says why sessions that stay are not tried elsewhere.
func explainNoRetry(who string) string {
	return "with onHostLost: Fail " + who + ", and Envoy takes a request that it tries again off that host"
}

// newRetry reads a rule's retries. Attempts beyond what the narrower type holds are more than any request lives to see.
func newRetry(spec *gatewayv1.HTTPRouteRetry) *ir.Retry {
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
		backoff := parseDuration(spec.Backoff)
		r.Backoff = &backoff
	}
	return r
}

// parseDuration reads a duration that the CRD's pattern has let through; without one it is 0.
func parseDuration(text *gatewayv1.Duration) time.Duration {
	if text == nil {
		return 0
	}
	d, err := duration.Parse(string(*text))
	if err != nil {
		return 0
	}
	return d
}
