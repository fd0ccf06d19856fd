package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// ProxyStatus is the status of Contour's HTTPProxy (projectcontour.io/v1), but for what its load balancer says.
type ProxyStatus struct {
	// CurrentStatus is valid or invalid, and Description the reason and message of the condition Valid.
	CurrentStatus string           `json:"currentStatus,omitempty"`
	Description   string           `json:"description,omitempty"`
	LoadBalancer  any              `json:"loadBalancer,omitempty"`
	Conditions    []ProxyCondition `json:"conditions,omitempty"`
}

// ExtensionStatus is the status of Contour's ExtensionService (projectcontour.io/v1alpha1).
type ExtensionStatus struct {
	Conditions []ProxyCondition `json:"conditions,omitempty"`
}

// ProxyCondition is a condition with what is behind it. Valid is False if there is an error.
type ProxyCondition struct {
	metav1.Condition `json:",inline"`

	Errors   []ProxyFault `json:"errors,omitempty"`
	Warnings []ProxyFault `json:"warnings,omitempty"`
}

// ProxyFault is one error or warning. Its status is always True.
type ProxyFault struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

// The words of Contour's API for the condition and for how it comes out.
const (
	proxyValid   = "Valid"
	proxyFaulty  = "ErrorPresent"
	stateValid   = "valid"
	stateInvalid = "invalid"
)

func (b *builder) writeProxies() {
	for _, p := range b.Objects.Proxies {
		s := parseStatus[ProxyStatus](p.Status)
		b.setProxyValid(&s, p.Value.ObjectMeta, b.problemsOf(p))
		b.setProxyAffected(&s, p.Value.ObjectMeta, p.Origin().Ref)
		b.addObject(p.Value.TypeMeta, p.Value.ObjectMeta, s)
	}
}

// writeExtensions writes the status of Contour's ExtensionServices, which is that condition alone.
func (b *builder) writeExtensions() {
	for _, e := range b.Objects.Extensions {
		s := parseStatus[ExtensionStatus](e.Status)
		b.setContourValid(&s.Conditions, object.KindExtensionService, e.Value.ObjectMeta, b.problemsOf(e))
		b.addObject(e.Value.TypeMeta, e.Value.ObjectMeta, s)
	}
}

// setProxyValid puts the condition Valid into a status, and what Contour derives from it.
func (b *builder) setProxyValid(s *ProxyStatus, meta metav1.ObjectMeta, problems []report.Problem) {
	is := b.setContourValid(&s.Conditions, object.KindHTTPProxy, meta, problems)
	if is == nil {
		return
	}
	s.CurrentStatus, s.Description = stateValid, is.Reason+": "+is.Message
	if is.Status == metav1.ConditionFalse {
		s.CurrentStatus = stateInvalid
	}
}

// setContourValid puts the condition Valid among others, and gives it; nil if another controller knows better (S64).
func (b *builder) setContourValid(
	all *[]ProxyCondition, kind string, meta metav1.ObjectMeta, problems []report.Problem,
) *ProxyCondition {
	is := ProxyCondition{Condition: newCondition(proxyValid, true, proxyValid, "Valid "+kind)}
	for _, p := range problems {
		fault := ProxyFault{
			Type:    proxyFaultType(p.Path),
			Status:  metav1.ConditionTrue,
			Reason:  proxyReason(p),
			Message: prefixPath(p.Path, p.Message),
		}
		if p.Verdict() == report.Refused || slices.Contains(listUnresolvedReasons(), p.Reason) {
			is.Errors = append(is.Errors, fault)
		} else {
			is.Warnings = append(is.Warnings, fault)
		}
	}
	if len(is.Errors) > 0 {
		is.Condition = newCondition(proxyValid, false, proxyFaulty, "At least one error present, see Errors for details")
	}
	at := slices.IndexFunc(*all, func(c ProxyCondition) bool { return c.Type == proxyValid })
	if at < 0 {
		at, *all = len(*all), append(*all, ProxyCondition{})
	}
	was := (*all)[at]
	if was.ObservedGeneration > meta.Generation {
		return nil
	}
	is.Condition = b.newWriter(meta).replace(was.Condition, is.Condition)
	(*all)[at] = is
	return &is
}

// setProxyAffected puts the conditions about policies into a status, for all Gateways at once: an HTTPProxy names none.
func (b *builder) setProxyAffected(s *ProxyStatus, meta metav1.ObjectMeta, proxy object.Ref) {
	var there []metav1.Condition
	others := slices.DeleteFunc(slices.Clone(s.Conditions), func(c ProxyCondition) bool {
		if !slices.Contains(ownedByAffected, c.Type) {
			return false
		}
		there = append(there, c.Condition)
		return true
	})
	for _, c := range b.newWriter(meta).merge(there, ownedByAffected, b.findAffecting(proxy, anyGateway).listConditions()...) {
		others = append(others, ProxyCondition{Condition: c})
	}
	s.Conditions = others
}

// proxyFaultType is Contour's type of error for a place in the object.
func proxyFaultType(path string) string {
	switch {
	case strings.HasPrefix(path, "spec.tcpproxy"):
		return "TCPProxyError"
	case strings.HasPrefix(path, "spec.virtualhost"):
		return "VirtualHostError"
	case strings.Contains(path, ".services"):
		return "ServiceError"
	case strings.Contains(path, ".loadBalancerPolicy"):
		return "SpecError"
	default:
		return "RouteError"
	}
}

// proxyReason is the reason that Contour has for what limpet calls otherwise.
func proxyReason(p report.Problem) string {
	switch {
	case strings.Contains(p.Path, ".loadBalancerPolicy"):
		return "IgnoredField"
	case slices.Contains(listUnresolvedReasons(), p.Reason):
		return "ServiceUnresolvedReference"
	case p.Reason != "":
		return p.Reason
	default:
		return "NotHonoured"
	}
}

func listUnresolvedReasons() []string {
	var all []string
	for _, r := range unresolvedRouteReasons {
		all = append(all, string(r))
	}
	return all
}
