package envoy

import (
	"regexp"
	"strconv"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// applyFilters writes what a rule's filters do whatever becomes of the request.
func (e *emitter) applyFilters(route *routev3.Route, r *ir.Route) {
	route.RequestHeadersToRemove, route.ResponseHeadersToRemove = r.RequestHeaders.Remove, r.ResponseHeaders.Remove
	route.RequestHeadersToAdd = newHeaderOptions(&r.RequestHeaders)
	route.ResponseHeadersToAdd = newHeaderOptions(&r.ResponseHeaders)
	own := map[string]*anypb.Any{}
	if r.CORS != nil {
		own[corsFilter] = e.pack(newCORSPolicy(r.CORS))
	}
	if r.Auth != nil {
		e.askService(own, r.Auth)
	}
	if len(own) > 0 {
		route.TypedPerFilterConfig = own
	}
}

// escapeCommands has a value mean what it says: Envoy would read %REQ(a)% in it as a command.
func escapeCommands(value string) string { return strings.ReplaceAll(value, "%", "%%") }

// newHeaderOptions are the headers that are set and added.
func newHeaderOptions(h *ir.HeaderEdits) (all []*corev3.HeaderValueOption) {
	write := func(p ir.Pair, action corev3.HeaderValueOption_HeaderAppendAction) {
		all = append(all, &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: p.Name, Value: escapeCommands(p.Value)},
			AppendAction: action, KeepEmptyValue: true,
		})
	}
	for _, p := range h.Set {
		write(p, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)
	}
	for _, p := range h.Add {
		write(p, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD)
	}
	return all
}

// redirectCodes are Envoy's names of the statuses that Gateway API has.
var redirectCodes = map[int]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY,
	302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER,
	307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

func newRedirect(r *ir.Route) *routev3.Route_Redirect {
	to := r.Redirect
	action := &routev3.RedirectAction{
		HostRedirect: to.Host,
		PortRedirect: uint32(to.Port),
		ResponseCode: redirectCodes[to.Status],
	}
	if to.Scheme != "" {
		action.SchemeRewriteSpecifier = &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: to.Scheme}
	}
	switch edit := newPathEdit(to.Path, r.Match); {
	case edit.whole != "":
		action.PathRewriteSpecifier = &routev3.RedirectAction_PathRedirect{PathRedirect: edit.whole}
	case edit.regex != nil:
		action.PathRewriteSpecifier = &routev3.RedirectAction_RegexRewrite{RegexRewrite: edit.regex}
	case edit.prefix != "":
		action.PathRewriteSpecifier = &routev3.RedirectAction_PrefixRewrite{PrefixRewrite: edit.prefix}
	}
	return &routev3.Route_Redirect{Redirect: action}
}

// pathEdit is a change of a path as Envoy knows it; at most one is set.
type pathEdit struct {
	whole, prefix string
	regex         *matcherv3.RegexMatchAndSubstitute
}

// newPathEdit gives the change for what a match has matched. Without a slash at its end a prefix is replaced by one
// without, and what is replaced by nothing leaves a slash and no more (HTTPPathModifier, replacePrefixMatch).
func newPathEdit(p *ir.PathEdit, match ir.Match) pathEdit {
	if p == nil {
		return pathEdit{}
	}
	to := strings.TrimRight(p.Value, "/")
	switch {
	case !p.Prefix:
		return pathEdit{whole: p.Value}
	case match.Regex != "":
		return newTextEdit(p.Value, match.Regex)
	case match.Exact:
		return pathEdit{whole: to + "/"}
	case match.Path == "/":
		return pathEdit{prefix: to + "/"}
	case to == "":
		return pathEdit{regex: substitute("^"+regexp.QuoteMeta(match.Path)+"/*", "/")}
	default:
		return pathEdit{prefix: to}
	}
}

// newTextEdit gives the change of what an expression begins with, as Contour's prefixes do. What is replaced by a slash
// takes those with it that follow.
func newTextEdit(by, expression string) pathEdit {
	text, is := strings.CutSuffix(expression, ".*")
	switch {
	case !is: // no prefix
		return pathEdit{}
	case by == "/":
		return pathEdit{regex: substitute("^"+text+"/*", by)}
	default:
		return pathEdit{regex: substitute("^"+text, by)}
	}
}

func substitute(expression, by string) *matcherv3.RegexMatchAndSubstitute {
	return &matcherv3.RegexMatchAndSubstitute{
		Pattern: &matcherv3.RegexMatcher{Regex: expression}, Substitution: strings.ReplaceAll(by, `\`, `\\`),
	}
}

// applyRewrite changes the host and path that the backend sees.
func applyRewrite(action *routev3.RouteAction, r *ir.Route) {
	if r.Rewrite == nil {
		return
	}
	if r.Rewrite.Host != "" {
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: r.Rewrite.Host}
	}
	edit := newPathEdit(r.Rewrite.Path, r.Match)
	action.PrefixRewrite, action.RegexRewrite = edit.prefix, edit.regex
	if edit.whole != "" {
		action.RegexRewrite = substitute("^/.*$", edit.whole)
	}
}

// hasMirrorableCookie reports whether the filter says what the cookies are without the route's tokens: it looks for
// those of one policy.
func hasMirrorableCookie(r *ir.Route) bool { return len(r.Policies) == 1 && r.Policies[0].Mirrored }

// newMirrors sends copies to other clusters, under the host that the request has.
func (e *emitter) newMirrors(r *ir.Route) (all []*routev3.RouteAction_RequestMirrorPolicy) {
	for i := range r.Mirrors {
		m := &r.Mirrors[i]
		all = append(all, &routev3.RouteAction_RequestMirrorPolicy{
			Cluster: m.Cluster, DisableShadowHostSuffixAppend: true,
			RuntimeFraction: &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{
				Numerator: m.Parts, Denominator: typev3.FractionalPercent_MILLION,
			}},
			RequestHeadersMutations: e.newMirrorEdits(m, hasMirrorableCookie(r)),
		})
	}
	return all
}

// newMirrorEdits takes headers out of copies, and gives them back what they may have of those. Where the filter is down
// they have no cookies.
func (e *emitter) newMirrorEdits(m *ir.Mirror, hasCookies bool) (all []*mutationv3.HeaderMutation) {
	add := func(name, value string) {
		all = append(
			all,
			&mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
				Header: &corev3.HeaderValue{Key: name, Value: value},
			}}},
		)
	}
	for _, name := range m.Remove {
		all = append(all, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	if hasCookies && m.KeepsCookies {
		add("cookie", e.filterState(policyconfig.MirrorFilterState))
	}
	for _, p := range m.Add {
		add(p.Name, escapeCommands(p.Value))
	}
	return all
}

func newCORSPolicy(c *ir.CORS) *corsv3.CorsPolicy {
	policy := &corsv3.CorsPolicy{
		AllowMethods: strings.Join(c.Methods, ", "), AllowHeaders: strings.Join(c.Headers, ", "),
		ExposeHeaders: strings.Join(c.Expose, ", "), MaxAge: strconv.Itoa(c.MaxAge),
		AllowCredentials: wrapperspb.Bool(c.Credentials),
		// What no page may send goes no further: the backend would answer in its own way.
		ForwardNotMatchingPreflights: wrapperspb.Bool(false),
	}
	for _, o := range c.Origins {
		policy.AllowOriginStringMatch = append(policy.AllowOriginStringMatch, matchValue(ir.ValueMatch{
			Value: o.Exact + o.Regex, Regex: o.Regex != "",
		}))
	}
	return policy
}
