// Package plugin writes the filter's own configuration.
package plugin

import (
	"reflect"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Text is the text of a policy, or why there is none.
type Text struct {
	Written *policyconfig.Written
	Err     error
}

// TextKey names a text. A policy may have its name in two forms, with clusters and without.
type TextKey struct{ policy, clusters string }

// TextInputs are everything that a text is made from: its policy.
type TextInputs struct{ *policyconfig.Policy }

// Key names the text.
func (in TextInputs) Key() TextKey { return TextKey{in.Name, strings.Join(in.Clusters, ",")} }

// Equal reports whether other inputs have the same text.
func (in TextInputs) Equal(other TextInputs) bool {
	return reflect.DeepEqual(in.Policy, other.Policy)
}

// Write writes a policy. The error is that of policyconfig.Write.
func Write(in TextInputs) Text {
	written, err := policyconfig.Write(*in.Policy, policyconfig.DefaultPinHeader)
	return Text{written, err}
}

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
	return Join(policies, g, parallel.Map(policies, func(some []policyconfig.Policy, texts []Text) {
		for i, p := range some {
			texts[i] = Write(TextInputs{&p})
		}
	}))
}

// EmitApart is Emit where the policies travel with their routes: they are in the configuration, and not in its JSON.
func EmitApart(policies []policyconfig.Policy, g Global) (policyconfig.Config, []byte, error) {
	c, text, err := Emit(nil, g)
	c.Policies = policies
	return c, text, err
}

// Join is Emit where the policies' texts are there already.
func Join(policies []policyconfig.Policy, g Global, texts []Text) (policyconfig.Config, []byte, error) {
	c := g.Config()
	written := make([]*policyconfig.Written, len(texts))
	for i, t := range texts {
		if t.Err != nil { // the whole configuration says what is wrong, at its place
			c.Policies = append(c.Policies, policies...)
			return policyconfig.Encode(c)
		}
		written[i] = t.Written
	}
	return policyconfig.EncodeWith(c, written)
}
