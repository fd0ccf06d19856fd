package loadbalancing

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/re2"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/suggest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// contourCookie is the cookie of the strategy Cookie, by Contour's name for it.
const contourCookie = "X-Contour-Session-Affinity"

// hashEntry is a valid entry and its path.
type hashEntry struct {
	ir.Hash
	path *field.Path
}

var strategies = map[v1alpha1.Strategy]ir.Balancing{
	"":                            ir.RoundRobin,
	v1alpha1.RoundRobin:           ir.RoundRobin,
	v1alpha1.WeightedLeastRequest: ir.LeastRequest,
	v1alpha1.Random:               ir.Random,
	v1alpha1.RequestHash:          ir.RequestHash,
	v1alpha1.CookieStrategy:       ir.RequestHash,
}

var strategyNames = []v1alpha1.Strategy{
	v1alpha1.RoundRobin, v1alpha1.WeightedLeastRequest, v1alpha1.Random, v1alpha1.RequestHash, v1alpha1.CookieStrategy,
}

// readPolicy reads a strategy and its entries. What is invalid is ignored with a warning and never refused (S52).
func readPolicy(
	name string,
	about report.Subject,
	at *field.Path,
	spec *v1alpha1.LoadBalancerPolicySpec,
	rep *report.Report,
) *Policy {
	p := &Policy{Name: name, subject: about, specPath: at}
	strategy := v1alpha1.Strategy("")
	if spec.Strategy != nil {
		strategy = *spec.Strategy
	}
	var known bool
	p.strategyName = cmp.Or(strategy, v1alpha1.RoundRobin)
	if p.strategy, known = strategies[strategy]; !known {
		p.strategyName = v1alpha1.RoundRobin
		e := field.NotSupported(at.Child("strategy"), strategy, strategyNames)
		e.Detail += suggest.Value(strategy, strategyNames) + ": RoundRobin is used instead"
		rep.WarnFor(report.BalancingNotHonoured, about, report.ReasonPartiallyProgrammed, e)
	}
	entries := at.Child("requestHashPolicies")
	switch strategy {
	case v1alpha1.RequestHash:
		p.hashes = readHashes(about, entries, spec.RequestHashPolicies, rep)
		if len(p.hashes) == 0 {
			p.strategy, p.strategyName = ir.RoundRobin, v1alpha1.RoundRobin
			rep.WarnForAt(report.BalancingNotHonoured,
				about,
				report.ReasonPartiallyProgrammed,
				entries.String(),
				"no entry is valid: RoundRobin is used in place of RequestHash",
			)
		}
		return p
	case v1alpha1.CookieStrategy:
		rep.Advise(report.ForeignCookie, about, at.Child("strategy"),
			"requests are spread by Contour's own cookie, "+contourCookie+", which anyone can make and "+
				"no host is bound to: attach a SessionPersistencePolicy for a session in a signed token")
		session := time.Duration(0)
		p.hashes = []hashEntry{{ir.Hash{Cookie: contourCookie, TTL: &session, Path: "/"}, at.Child("strategy")}}
	}
	if len(spec.RequestHashPolicies) > 0 {
		rep.WarnForAt(report.BalancingNotHonoured, about, report.ReasonPartiallyProgrammed, entries.String(),
			"ignored: the strategy is not RequestHash")
	}
	return p
}

// readHashes returns the valid entries, in their order.
func readHashes(
	about report.Subject,
	at *field.Path,
	entries []v1alpha1.RequestHashPolicy,
	rep *report.Report,
) []hashEntry {
	var valid []hashEntry
	seen := map[string]bool{}
	for i, e := range entries {
		path := at.Index(i)
		h, fault := readEntry(path, e)
		if fault == nil && seen[attributeName(h)] {
			fault = field.Duplicate(path, attributeName(h))
		}
		if fault != nil {
			fault.Detail = strings.TrimPrefix(fault.Detail+": the entry is ignored", ": ")
			rep.WarnFor(report.BalancingNotHonoured, about, report.ReasonPartiallyProgrammed, fault)
			continue
		}
		seen[attributeName(h)] = true
		valid = append(valid, hashEntry{h, path})
	}
	return valid
}

// attributeName names what an entry hashes.
func attributeName(h ir.Hash) string {
	switch {
	case h.Header != "":
		name := "header " + h.Header
		if h.Rewrite != "" {
			name += fmt.Sprintf(" with %q for %q", h.Replacement, h.Rewrite)
		}
		return name
	case h.Cookie != "":
		return "cookie " + h.Cookie
	case h.Query != "":
		return "query parameter " + h.Query
	default:
		return "source IP"
	}
}

// readEntry reads one entry, which must name exactly one attribute.
func readEntry(path *field.Path, e v1alpha1.RequestHashPolicy) (ir.Hash, *field.Error) {
	h := ir.Hash{Terminal: e.Terminal, SourceIP: e.HashSourceIP}
	options := 0
	for _, set := range []bool{
		e.HeaderHashOptions != nil, e.CookieHashOptions != nil, e.QueryParameterHashOptions != nil,
		e.HashSourceIP,
	} {
		if set {
			options++
		}
	}
	switch {
	case options == 0:
		return h, field.Required(
			path,
			"an entry has one of headerHashOptions, cookieHashOptions, queryParameterHashOptions and hashSourceIP",
		)
	case options > 1:
		return h, field.Forbidden(
			path,
			"an entry has only one of headerHashOptions, cookieHashOptions, queryParameterHashOptions and hashSourceIP",
		)
	case e.HeaderHashOptions != nil:
		return readHeader(path.Child("headerHashOptions"), h, e.HeaderHashOptions)
	case e.CookieHashOptions != nil:
		return readCookie(path.Child("cookieHashOptions"), h, e.CookieHashOptions)
	case e.QueryParameterHashOptions != nil:
		h.Query = e.QueryParameterHashOptions.ParameterName
		if h.Query == "" {
			return h, field.Required(path.Child("queryParameterHashOptions", "parameterName"), "")
		}
	}
	return h, nil
}

// readHeader reads a header's name, and what of its value is replaced.
func readHeader(path *field.Path, h ir.Hash, o *v1alpha1.HeaderHashOptions) (ir.Hash, *field.Error) {
	h.Header, h.Rewrite, h.Replacement = strings.ToLower(o.HeaderName), o.ValueRewriteRegex, o.ValueRewriteReplacement
	if fault := checkName(path.Child("headerName"), o.HeaderName); fault != nil {
		return h, fault
	}
	switch {
	case h.Rewrite == "" && h.Replacement == "":
		return h, nil
	case h.Rewrite == "":
		return h, field.Required(path.Child("valueRewriteRegex"), "without it nothing is replaced")
	}
	if why := re2.Explain(h.Rewrite); why != "" {
		return h, field.Invalid(path.Child("valueRewriteRegex"), h.Rewrite, why)
	}
	if why := re2.ExplainReplacement(h.Rewrite, h.Replacement); why != "" {
		return h, field.Invalid(path.Child("valueRewriteReplacement"), h.Replacement, why)
	}
	return h, nil
}

// checkName applies the rule for the names of headers and cookies: RFC 9110's token.
func checkName(path *field.Path, name string) *field.Error {
	if name == "" {
		return field.Required(path, "")
	}
	if err := policyconfig.CheckSessionName(policyconfig.TypeCookie, name); err != nil {
		return field.Invalid(path, name, err.Error())
	}
	return nil
}

func readCookie(path *field.Path, h ir.Hash, o *v1alpha1.CookieHashOptions) (ir.Hash, *field.Error) {
	h.Cookie, h.Path = o.CookieName, "/"
	if fault := checkName(path.Child("cookieName"), o.CookieName); fault != nil {
		return h, fault
	}
	if o.Path != nil {
		h.Path = *o.Path
		if err := policyconfig.CheckCookiePath(h.Path); err != nil {
			return h, field.Invalid(path.Child("path"), h.Path, err.Error())
		}
	}
	if o.TTL == nil {
		return h, nil
	}
	ttl, err := duration.Parse(*o.TTL)
	if err != nil {
		return h, field.Invalid(path.Child("ttl"), *o.TTL,
			fmt.Sprintf("must be a duration such as 1h30m (GEP-2257, %s)", policyconfig.DurationPattern))
	}
	// Cookies count whole seconds, and Envoy takes less than one for the browser session.
	ttl = (ttl + time.Second - 1).Truncate(time.Second)
	h.TTL = &ttl
	return h, nil
}

// String names the attribute, and what is done besides hashing it.
func (h Hash) String() string {
	text := attributeName(h.Hash)
	if h.TTL != nil {
		text += fmt.Sprintf(", made up for %s with the path %s", formatLifetime(*h.TTL), h.Hash.Path)
	}
	if h.Terminal {
		text += ", terminal"
	}
	return text
}

func formatLifetime(ttl time.Duration) string {
	if ttl == 0 {
		return "the browser session"
	}
	return ttl.String()
}
