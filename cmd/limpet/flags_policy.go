package main

import (
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
)

// policyFlags say how session policies are to be understood where documents leave a choice.
type policyFlags struct {
	gatewayAPI     string
	classNamespace string
	partialSplit   string
	assumeAdmitted bool
}

// defaultPolicies are what holds without flags.
var defaultPolicies = policyFlags{classNamespace: compiler.DefaultClassPolicyNamespace, partialSplit: compiler.PartialAll}

// registerRelease registers what a document without marks of its release means.
func (p *policyFlags) registerRelease(f *pflag.FlagSet) {
	f.StringVar(&p.gatewayAPI, "gateway-api", "",
		"release of Gateway API, `1.6|1.7`, where a document does not show\n"+
			"its own; 1.6 also warns of what such a cluster would drop (default 1.6)")
}

func (p *policyFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.classNamespace, "class-policy-namespace", compiler.DefaultClassPolicyNamespace,
		"the `NAMESPACE` whose policies for GatewayClasses count")
	f.StringVar(&p.partialSplit, "partial-split", compiler.PartialAll,
		"a split with a session policy on only one of its Services:\n`all|reject`")
	f.BoolVar(&p.assumeAdmitted, "assume-admitted", false,
		"leave the checks of the CRDs out, for documents that come from\nan API server")
}

// check refuses values that the compiler would.
func (p *policyFlags) check() error {
	switch {
	case p.gatewayAPI != "" && p.gatewayAPI != "1.6" && p.gatewayAPI != "1.7":
		return usagef("--gateway-api %q: must be 1.6 or 1.7", p.gatewayAPI)
	case p.partialSplit != compiler.PartialAll && p.partialSplit != compiler.PartialReject:
		return usagef("--partial-split %q: must be all or reject", p.partialSplit)
	default:
		return nil
	}
}

// set puts the flags into a compilation's options.
func (p *policyFlags) set(o *compiler.Options) {
	o.GatewayAPI = p.gatewayAPI
	o.ClassPolicyNamespace = p.classNamespace
	o.PartialSplit = p.partialSplit
	o.AssumeAdmitted = p.assumeAdmitted
}
