// Package envoygateway writes what Envoy Gateway needs to give routes limpet's sessions: the routes themselves with
// header session persistence as the pin, the policy that loads the filter, and what keeps the pin between the two.
//
// Which name Envoy Gateway gives to what was read in its version 1.9.1 and tried on it; the comments name what was
// seen without a piece.
package envoygateway

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Controller is the controllerName of Envoy Gateway's GatewayClasses.
const Controller = "gateway.envoyproxy.io/gatewayclass-controller"

// pinHeader is the internal header, by which the filter and Envoy's session filter speak to each other.
const pinHeader = policyconfig.DefaultPinHeader

// targetName is the name that reports use.
const targetName = "envoy-gateway"

const (
	group   = "gateway.envoyproxy.io"
	version = group + "/v1alpha1"
	// kindBackend is Envoy Gateway's own kind of backend.
	kindBackend   = "Backend"
	kindProxy     = "EnvoyProxy"
	kindExtension = "EnvoyExtensionPolicy"
	kindClient    = "ClientTrafficPolicy"
	kindTraffic   = "BackendTrafficPolicy"
)

// Kinds are Envoy Gateway's own kinds that may be in the input: what they say is kept, or extended.
var Kinds = []schema.GroupVersionKind{
	{Group: group, Version: "v1alpha1", Kind: kindBackend},
	{Group: group, Version: "v1alpha1", Kind: kindProxy},
	{Group: group, Version: "v1alpha1", Kind: kindExtension},
	{Group: group, Version: "v1alpha1", Kind: kindClient},
	{Group: group, Version: "v1alpha1", Kind: kindTraffic},
}

// Backends are those of Kinds that routes may lead to.
var Backends = []schema.GroupKind{{Group: group, Kind: kindBackend}}

// Output is a manifest, to be applied as a whole, and the policies in it.
type Output struct {
	Policies []policyconfig.Policy
	Manifest []byte
}

// Emit gives the manifest. What can't be supported goes to the report. An error means a fault of this program. Where an
// object that limpet would write is another's, the rules that need it go without sessions, and all others keep theirs.
func Emit(plan *ir.Plan, global plugin.Global, o Options, rep *report.Report) (*Output, error) {
	plan.Withheld = map[ir.RulePlace]string{} // which all plans made from this one have in common
	plan = leaveOutOwnOutput(plan, rep)
	for {
		e := &emitter{
			plan: plan, global: global, options: o, rep: &report.Report{}, edited: map[string]jsonObject{},
			taken: map[object.Ref]object.Ref{}, owners: &report.Report{},
		}
		out, err := e.emit()
		if err != nil || len(e.taken) == 0 {
			rep.Add(e.rep)
			if len(e.rules) == 0 {
				plan.ReportOwner(o.Owner, rep)
			}
			return out, err
		}
		plan = e.withoutTaken(rep)
	}
}

// emit gives the manifest of a plan.
func (e *emitter) emit() (*Output, error) {
	e.reportUnknownFields()
	e.collectRules()
	e.reportUnsupported()
	e.writeProxies()
	e.writeFences()
	e.writePatches()
	e.writeExtensions()
	e.writeRoutes()
	manifest, err := e.renderManifest()
	return &Output{Policies: e.collectPolicies(), Manifest: manifest}, err
}

// emitter collects the documents of a manifest and the first error.
type emitter struct {
	plan      *ir.Plan
	global    plugin.Global
	options   Options
	rep       *report.Report
	rules     []*sessionRule
	edited    map[string]jsonObject // documents of the input that get something added, by kind and name
	documents []jsonObject
	// taken has an object of another's in the place of one of limpet's, by what needs it: a Gateway, or a namespace as
	// such. owners says of each whose it is.
	taken  map[object.Ref]object.Ref
	owners *report.Report
	err    error
}

// collectPolicies are those of all rules, in order.
func (e *emitter) collectPolicies() []policyconfig.Policy {
	var all []policyconfig.Policy
	for _, r := range e.rules {
		all = append(all, r.policies...)
	}
	slices.SortFunc(all, comparePolicies)
	return all
}
