package main

import (
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
)

// policyFlags say how session policies are to be understood where documents leave a choice.
type policyFlags struct {
	gatewayAPI     string
	classNamespace string
	assumeAdmitted bool
}

// defaultPolicies are what holds without flags.
var defaultPolicies = policyFlags{classNamespace: compiler.DefaultClassPolicyNamespace}

// registerRelease registers what a document without marks of its release means.
func (p *policyFlags) registerRelease(f *pflag.FlagSet) {
	f.StringVar(&p.gatewayAPI, "gateway-api", "",
		"release of Gateway API, `1.6|1.7`, where a document does not show\n"+
			"its own; 1.6 also warns of what such a cluster would drop (default 1.6)")
}

func (p *policyFlags) register(f *pflag.FlagSet) {
	p.registerRelease(f)
	f.StringVar(&p.classNamespace, "system-namespace", compiler.DefaultClassPolicyNamespace,
		"limpet's own `NAMESPACE`, whose policies for GatewayClasses count")
}

// registerAdmitted is for inputs so large that the checks take long.
func (p *policyFlags) registerAdmitted(f *pflag.FlagSet) {
	f.BoolVar(&p.assumeAdmitted, "assume-admitted", false,
		"leave the checks of the CRDs out, for documents that come from\nan API server")
}

// checkFlags refuses values that the compiler would.
func (p *policyFlags) checkFlags() error {
	if p.gatewayAPI == "" {
		return nil
	}
	return checkChoice("gateway-api", p.gatewayAPI, "1.6", "1.7")
}

// set puts the flags into a compilation's options.
func (p *policyFlags) set(o *compiler.Options) {
	o.GatewayAPI = p.gatewayAPI
	o.ClassPolicyNamespace = p.classNamespace
	o.AssumeAdmitted = p.assumeAdmitted
}
