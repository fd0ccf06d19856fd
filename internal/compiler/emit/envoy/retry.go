package envoy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
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
	byStatus     = "retriable-status-codes"
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
		policy.RetryOn = e.splitConditions(r).policy
	} // else it says how a request is tried again, and a header of the other shares whether (see weighted)
	return policy
}

// newHostRetryPolicy is how the requests of most of a host's routes are tried again: those of sessions that may move,
// of rules that ask for nothing else. It is nil where that is no more than half of them.
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

// completeRetryPolicy leaves a route the policy of its host where it would have the same, and has it say so where it
// would have none.
func completeRetryPolicy(action *routev3.RouteAction, r *ir.Route) {
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

// conditions says what Envoy tries again.
type conditions struct {
	// policy is for all requests, and unpinned for those without a session besides: what hosts have answered (S73).
	policy, unpinned string
}

// splitConditions gives those of a route. The native filter pins without a header, by which these requests could be
// told apart.
func (e *emitter) splitConditions(r *ir.Route) (c conditions) {
	all := listConditions(r)
	if r.Sticky && !e.settings.Native {
		var answers []string
		all, answers = separateAnswers(all)
		c.unpinned = strings.Join(answers, ",")
	}
	c.policy = strings.Join(all, ",")
	return c
}

// listConditions is what a rule asks for, or what is safe for every request. Sessions leave hosts that do not answer
// besides.
func listConditions(r *ir.Route) []string {
	switch {
	case r.Retry == nil:
		return strings.Split(unsentOnly, ",")
	case len(r.Retry.On) > 0 && r.Sticky:
		return appendNew(strings.Split(unsentOnly, ","), r.Retry.On...)
	case len(r.Retry.On) > 0:
		return appendNew(nil, r.Retry.On...)
	case len(r.Retry.Codes) == 0:
		return strings.Split(brokenOff, ",")
	default:
		return append(strings.Split(brokenOff, ","), byStatus)
	}
}

// separateAnswers separates the conditions that are about answers of hosts. Some of them are about hosts that do not
// answer, too.
func separateAnswers(all []string) (others, answers []string) {
	for _, condition := range all {
		switch condition {
		case "5xx", "gateway-error":
			others, answers = appendNew(others, "reset"), append(answers, condition)
		case "retriable-4xx", byStatus, "retriable-headers",
			"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable": // of gRPC
			answers = append(answers, condition)
		default:
			others = appendNew(others, condition)
		}
	}
	return others, answers
}

// appendNew appends those that a list does not have.
func appendNew(list []string, more ...string) []string {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// newRetryHeader has Envoy try again what a policy does not say, with requests that no session pins; nil for nothing.
func (e *emitter) newRetryHeader(pinned, unpinned string) *corev3.HeaderValueOption {
	value := unpinned
	switch {
	case unpinned == "":
		return nil
	case pinned != unpinned: // where the pin header is removed it has been looked at
		value = fmt.Sprintf("%%CEL('%s' in request.headers ? '%s' : '%s')%%", e.settings.Plugin.PinHeader, pinned, unpinned)
	}
	return &corev3.HeaderValueOption{
		Header:       &corev3.HeaderValue{Key: retryHeader, Value: value},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// failsWithHost reports whether the sessions of a share shall not move.
func failsWithHost(s ir.Share) bool { return s.FailStatus != 0 }
