package compiler

import policyconfig "github.com/limpet-proxy/limpet/policy-config"

// SessionPolicies are the policies of the plugin that Compile with the same options would write, by route, rule, listener
// and backend; a policy that several listeners share is in it for each. The error is that of Check.
func SessionPolicies(sources []Source, o Options) (policies []policyconfig.Policy, err error) {
	defer o.Cache.endCompilation(false)
	o.writeNothing()
	j, err := analyze(sources, &o)
	if err != nil {
		return nil, err
	}
	for _, path := range j.Decisions.Paths {
		policies = append(policies, path.Policies...)
	}
	return policies, nil
}
