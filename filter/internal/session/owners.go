package session

import (
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// newOwners reads what validation has read before; nil for none.
func newOwners(list []string) *token.Owners {
	if len(list) == 0 {
		return nil
	}
	o := &token.Owners{}
	for _, text := range list {
		item, err := policyconfig.ParseOwner(text)
		if err != nil {
			continue
		}
		// No token names a host that is none to the package.
		if host, err := token.ParseHost(item.Host); err == nil {
			o.Add(host, item.Tag, item.Named)
		}
	}
	return o
}
