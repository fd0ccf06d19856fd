// Package plugin writes the filter's own configuration.
package plugin

import (
	"github.com/limpet-proxy/limpet/policy-config"
)

// Emit gives the plugin configuration of policies and its JSON, which policyconfig has read back and found whole.
func Emit(policies []policyconfig.Policy, keys policyconfig.Keys) (policyconfig.Config, []byte, error) {
	c := policyconfig.DefaultConfig()
	c.Keys = keys
	c.Policies = append(c.Policies, policies...)
	return policyconfig.Encode(c)
}
