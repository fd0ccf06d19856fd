// Package istio writes the resources that put limpet into Istio's proxies: for each set of proxies that serves a rule
// with sessions a WasmPlugin (or TrafficExtension) with the filter's configuration, and an EnvoyFilter for what those
// can't say; with the native filter an EnvoyFilter alone. Istio makes listeners, routes and clusters itself, from
// Gateway API's objects or its own; the policies go by the names that it gives to routes and clusters. What each patch
// is for was tried on Istio's discovery server with a real Envoy (e2e/istio), where each is also taken away.
package istio

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Target is the name in reports of what is not supported.
const Target = "istio"

// Kinds are those that Istio serves, and limpet reads for what it writes beside them.
var Kinds = []schema.GroupVersionKind{
	{Group: gatewayv1.GroupName, Version: "v1", Kind: object.KindListenerSet},
	{Group: "networking.istio.io", Version: "v1alpha3", Kind: kindEnvoyFilter},
}

// Options is what the user says besides the documents.
type Options struct {
	// WasmURL is where Istio's agents find limpet.wasm: oci://, https:// or file://. It or NativePath is required.
	WasmURL string
	// WasmSHA256 is the module's sum, or an image's; empty for none.
	WasmSHA256 string
	// NativePath is where the proxies find liblimpet.so, in their image: the native filter in place of limpet.wasm. With
	// it Phase, Priority, FailStrategy, TrafficExtension and NativePin, which are about plugins, may not be set.
	NativePath string
	// Phase is AUTHN, AUTHZ or STATS; empty puts the plugin after all of them, hence after authorization.
	Phase string
	// Priority orders plugins of one phase; the higher comes first. Nil for Istio's default.
	Priority *int32
	// FailStrategy is FAIL_CLOSE, FAIL_OPEN or FAIL_RELOAD. Default: FAIL_RELOAD.
	FailStrategy string
	// TrafficExtension writes that kind, which Istio has from 1.31, in place of WasmPlugin.
	TrafficExtension bool
	// NativePin has Istio's own persistent sessions pin, by a label on the Services.
	NativePin bool
	// RootNamespace is the mesh's; resources for Istio's own Gateways go there, for their pods may be anywhere.
	RootNamespace string
	// Owner is whom the resources are for, in a label of theirs; empty for none.
	Owner string
}

// Output is what was written.
type Output struct {
	// YAML holds the documents to apply.
	YAML []byte
	// Plugin is the filter's configuration for the first set of proxies, and JSON its text.
	Plugin policyconfig.Config
	JSON   []byte
}

// emitter writes for one compilation.
type emitter struct {
	Options
	plan      *ir.Plan
	rep       *report.Report
	proxySets []*proxySet
	named     map[object.Ref]*proxySet // whose resources have a name
	documents []document
	err       error
}

// Emit writes the resources. What Istio can't carry goes to the report.
func Emit(plan *ir.Plan, global plugin.Global, o Options, rep *report.Report) (*Output, error) {
	e := &emitter{Options: o, plan: plan, rep: rep}
	e.reportUnsupported()
	out := &Output{}
	services := map[string]bool{}
	e.proxySets = e.groupByProxies()
	e.nameProxySets()
	for i, p := range e.proxySets {
		policies := e.collectPolicies(p)
		config, text, err := plugin.Emit(policies, global)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out.Plugin, out.JSON = config, text
		}
		if len(policies) > 0 && e.mayWrite(p) {
			p.written = true
			e.addFilter(p, config, text)
			p.noteServices(services)
		}
	}
	e.addCopies()
	e.checkLabels(services)
	if len(e.documents) == 0 {
		plan.ReportOwner(o.Owner, rep)
	}
	if out.JSON == nil {
		var err error
		if out.Plugin, out.JSON, err = plugin.Emit(nil, global); err != nil {
			return nil, err
		}
	}
	if e.err != nil {
		return nil, e.err
	}
	var err error
	out.YAML, err = toYAML(e.documents)
	return out, err
}

// addFilter adds the documents that put the filter into a set of proxies.
func (e *emitter) addFilter(p *proxySet, config policyconfig.Config, text []byte) {
	if e.isNative() {
		e.addDocuments(e.newNativeFilter(p, text))
		return
	}
	e.addDocuments(e.newExtension(p, config, text), e.newEnvoyFilter(p, config.PinHeader))
}

func (e *emitter) addDocuments(d ...document) { e.documents = append(e.documents, d...) }

// proxySet is a set of Envoys that have one configuration.
type proxySet struct {
	// name and namespace are those of the resources for them.
	name, namespace string
	// first is the Gateway that the resources are named after.
	first *ir.Gateway
	// gateway is a Gateway of Gateway API in that namespace; without it the pods are chosen by labels.
	gateway          string
	labels           map[string]string
	rules            []*ir.AttachedRule // each once
	rulesByRouteName map[string][]*ir.AttachedRule
	routes           []*enabledRule // those with sessions, by policies
	// written says that its resources are written.
	written bool
}

// enabledRule is a rule whose sessions are kept.
type enabledRule struct {
	rule       *ir.AttachedRule
	names      []string // of its routes
	hosts      []string // of its backends, in Istio's registry
	failStatus int
}

// groupByProxies sorts the rules by the proxies that serve them.
func (e *emitter) groupByProxies() []*proxySet {
	var all []*proxySet
	by, seen := map[string]*proxySet{}, map[ruleOfSet]bool{}
	for _, rule := range e.plan.Rules {
		key, made := e.findProxySet(rule)
		if made == nil {
			continue
		}
		if by[key] == nil {
			by[key], made.rulesByRouteName = made, map[string][]*ir.AttachedRule{}
			all = append(all, made)
		}
		p := by[key]
		at := ruleOfSet{p, rule.Rule, rule.Sessions}
		if seen[at] {
			continue
		}
		seen[at] = true
		p.rules = append(p.rules, rule)
		for _, name := range removeDuplicates(routeNames(rule.Rule)) {
			p.rulesByRouteName[name] = append(p.rulesByRouteName[name], rule)
		}
	}
	return all
}

// ruleOfSet is a rule, with the sessions that it has on some listeners of some proxies.
type ruleOfSet struct {
	set      *proxySet
	rule     *ir.Rule
	sessions *ir.RuleSessions
}

// waypoint is the class of the proxies that Istio puts before workloads without sidecars.
const waypoint = "istio-waypoint"

// findProxySet gives the proxies that serve a rule on its listener, and a text that tells them apart. Istio's Gateways
// with one selector are one set.
func (e *emitter) findProxySet(rule *ir.AttachedRule) (string, *proxySet) {
	g := rule.Listener.Gateway
	if g.Class == waypoint {
		e.rep.NotSupportedBy(
			report.TargetLacks,
			g.Subject,
			Target,
			"spec.gatewayClassName",
			"a waypoint is no gateway for Istio's EnvoyFilters",
		)
		return "", nil
	}
	if g.Selector == nil {
		return "gateway " + g.Key(), &proxySet{first: g, name: "limpet-" + g.Name, namespace: g.Namespace, gateway: g.Name}
	}
	if len(g.Selector) == 0 {
		e.rep.NotSupportedBy(report.TargetLacks, g.Subject, Target, "spec.selector",
			"without labels the Gateway's proxies can't be told from others")
		return "", nil
	}
	var labels []string
	for name, value := range g.Selector {
		labels = append(labels, name+"="+value)
	}
	slices.Sort(labels)
	return "labels " + strings.Join(labels, ","), &proxySet{
		first: g, name: fmt.Sprintf("limpet-%s-%s", g.Namespace, g.Name), namespace: e.RootNamespace, labels: g.Selector,
	}
}

// noteServices collects the hosts that requests with sessions go to.
func (p *proxySet) noteServices(into map[string]bool) {
	for _, r := range p.routes {
		for _, h := range r.hosts {
			into[h] = true
		}
	}
}
