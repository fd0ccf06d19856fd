// Package plugin writes the filter's own configuration.
package plugin

import (
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Global is what holds for all policies.
type Global struct {
	Keys policyconfig.Keys
	// AccessLogFields, SessionDigest and DebugTickets are as in [policyconfig.Config].
	AccessLogFields, SessionDigest, DebugTickets bool
}

// GlobalOf is what a configuration has, with other keys.
func GlobalOf(c policyconfig.Config, keys policyconfig.Keys) Global {
	return Global{keys, c.AccessLogFields, c.SessionDigest, c.DebugTickets}
}

// Config is the configuration without policies.
func (g Global) Config() policyconfig.Config {
	c := policyconfig.DefaultConfig()
	c.Keys, c.AccessLogFields, c.SessionDigest, c.DebugTickets = g.Keys, g.AccessLogFields, g.SessionDigest, g.DebugTickets
	return c
}

// Emit gives the plugin configuration of policies and its JSON, which policyconfig has read back, policy by policy, and
// found whole. The policies must not be changed any more.
func Emit(policies []policyconfig.Policy, g Global) (policyconfig.Config, []byte, error) {
	type text struct {
		written *policyconfig.Written
		err     error
	}
	texts := parallel.Map(policies, func(some []policyconfig.Policy, texts []text) {
		for i := range some {
			texts[i].written, texts[i].err = policyconfig.Write(some[i], policyconfig.DefaultPinHeader)
		}
	})
	c := g.Config()
	written := make([]*policyconfig.Written, len(texts))
	for i, t := range texts {
		if t.err != nil { // the whole configuration says what is wrong, at its place
			c.Policies = append(c.Policies, policies...)
			return policyconfig.Encode(c)
		}
		written[i] = t.written
	}
	return policyconfig.EncodeWith(c, written)
}

// EmitApart is Emit where the policies travel with their routes: they are in the configuration, and not in its JSON.
func EmitApart(policies []policyconfig.Policy, g Global) (policyconfig.Config, []byte, error) {
	c, text, err := Emit(nil, g)
	c.Policies = policies
	return c, text, err
}
