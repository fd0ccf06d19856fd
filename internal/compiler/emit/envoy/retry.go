package envoy

import (
	"math"
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// How a request leaves a host that does not answer. Envoy drops the pin on a retry.
const (
	unsentOnly   = "connect-failure,refused-stream,reset-before-request" // nothing that a backend may have acted on
	brokenOff    = "connect-failure,refused-stream,reset"                // reset is also a try that takes too long
	byStatus     = ",retriable-status-codes"
	fewestTrials = 5   // picks of a host that was not tried yet; without them dead hosts are tried again and again
	trialsFor    = 20  // times a rule's attempts, so that the last of as many hosts is missed once in e^20 times
	mostTrials   = 200 // for attempts have no bound
	// backoffRange is by how much waits grow at the most; Envoy's default.
	backoffRange = 10
	longestWait  = time.Duration(math.MaxInt64 / 2) // Envoy takes a little less than all that fits
	// retryHeader asks Envoy's router to try a request again, as a route's retry_on does. Envoy takes it off requests
	// as they come in, and as they go on.
	retryHeader = "x-envoy-retry-on"
)

// newRetryPolicy limits each try of a route's requests and says which are tried again; nil for no limit and none. Where
// sessions shall not move nothing is: Envoy drops the pin on a retry.
func (e *emitter) newRetryPolicy(r *ir.Route) *routev3.RetryPolicy {
	again := triesAgain(r)
	if !again && r.PerTryTimeout == 0 {
		return nil
	}
	policy := &routev3.RetryPolicy{}
	if r.PerTryTimeout > 0 {
		policy.PerTryTimeout = durationpb.New(r.PerTryTimeout)
	}
	if !again {
		return policy
	}
	policy.NumRetries = wrapperspb.UInt32(ir.DefaultAttempts)
	policy.RetryHostPredicate = []*routev3.RetryPolicy_RetryHostPredicate{{
		Name: "envoy.retry_host_predicates.previous_hosts",
		ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
			TypedConfig: e.pack(&previoushostsv3.PreviousHostsPredicate{}),
		},
	}}
	policy.HostSelectionRetryMaxAttempts = fewestTrials
	if r.Retry != nil {
		applyRetry(policy, r.Retry)
	}
	if !slices.ContainsFunc(r.Split, failsWithHost) {
		policy.RetryOn = retryOn(r)
	} // else it says how a request is tried again, and a header of the other shares whether (see weighted)
	return policy
}

// newHostRetryPolicy is how the requests of most of a host's routes are tried again: those of sessions that may move, of
// rules that ask for nothing else. It is nil where that is no more than half of them.
func (e *emitter) newHostRetryPolicy(h *ir.Host) *routev3.RetryPolicy {
	var usual *ir.Route
	with, all := 0, 0
	for i := range h.Routes {
		if r := &h.Routes[i]; r.Status == 0 && r.Redirect == nil {
			all++
			if retriesAsUsual(r) {
				usual = r
				with++
			}
		}
	}
	if with < 2 || 2*with <= all {
		return nil
	}
	return e.newRetryPolicy(usual)
}

// retriesAsUsual reports whether all that a route's retries are for is to leave hosts that do not answer.
func retriesAsUsual(r *ir.Route) bool {
	return r.Status == 0 && r.Sticky && r.Retry == nil && r.PerTryTimeout == 0 && triesAgain(r) &&
		!slices.ContainsFunc(r.Split, failsWithHost)
}

// settleRetryPolicy leaves a route the policy of its host where it would have the same, and has it say so where it would
// have none.
func settleRetryPolicy(action *routev3.RouteAction, r *ir.Route) {
	switch {
	case action == nil:
	case retriesAsUsual(r):
		action.RetryPolicy = nil
	case action.RetryPolicy == nil:
		action.RetryPolicy = &routev3.RetryPolicy{}
	}
}

// triesAgain reports whether some request of a route is tried again.
func triesAgain(r *ir.Route) bool {
	if r.Retry != nil && r.Retry.Attempts != nil && *r.Retry.Attempts == 0 {
		return false
	}
	return r.Retriable() && (r.Sticky || r.Retry != nil)
}

// applyRetry puts a rule's own retries into a policy.
func applyRetry(policy *routev3.RetryPolicy, retry *ir.Retry) {
	for _, code := range retry.Codes {
		policy.RetriableStatusCodes = append(policy.RetriableStatusCodes, uint32(code))
	}
	if retry.Attempts != nil {
		policy.NumRetries = wrapperspb.UInt32(*retry.Attempts)
		policy.HostSelectionRetryMaxAttempts = min(max(fewestTrials, int64(*retry.Attempts)*trialsFor), mostTrials)
	}
	if retry.Backoff != nil {
		base := max(*retry.Backoff, time.Millisecond) // Envoy has no 0
		policy.RetryBackOff = &routev3.RetryPolicy_RetryBackOff{
			BaseInterval: durationpb.New(base), MaxInterval: durationpb.New(min(base, longestWait/backoffRange) * backoffRange),
		}
	}
}

// retryOn is what Envoy retries: what a rule asks for, or what is safe for every request.
func retryOn(r *ir.Route) string {
	switch {
	case r.Retry == nil:
		return unsentOnly
	case len(r.Retry.On) > 0:
		return joinConditions(r)
	case len(r.Retry.Codes) == 0:
		return brokenOff
	default:
		return brokenOff + byStatus
	}
}

// joinConditions gives a rule's own conditions, and for sessions those on which they leave hosts that do not answer.
func joinConditions(r *ir.Route) string {
	var all []string
	if r.Sticky {
		all = strings.Split(unsentOnly, ",")
	}
	for _, condition := range r.Retry.On {
		if !slices.Contains(all, condition) {
			all = append(all, condition)
		}
	}
	return strings.Join(all, ",")
}

// failsWithHost reports whether the sessions of a share shall not move.
func failsWithHost(s ir.Share) bool { return s.FailStatus != 0 }
