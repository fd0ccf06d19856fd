package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestShare shows the names of a rule's routes and policies on two listeners.
func TestShare(t *testing.T) {
	for name, c := range map[string]struct {
		documents []string
		want      []string
	}{
		"what is the same is shared": {
			[]string{policyOn(onGateway, "sessionName: cart")},
			[]string{"httproute/default/r/rule/0 [default/r/rule/0]"},
		},
		"without sessions too": {
			nil,
			[]string{"httproute/default/r/rule/0 []"},
		},
		"another field on one listener": {
			[]string{policyOn(onGateway, "sessionName: cart"), secondPolicy(policyOn(onListener, "idleTimeout: 1h"))},
			[]string{
				"httproute/default/r/rule/0/listener/default/web/one [default/r/rule/0/listener/default/web/one]",
				"httproute/default/r/rule/0/listener/default/web/two [default/r/rule/0/listener/default/web/two]",
			},
		},
		"sessions on one listener alone": {
			[]string{policyOn(onListener, "sessionName: cart")},
			[]string{
				"httproute/default/r/rule/0/listener/default/web/one []",
				"httproute/default/r/rule/0/listener/default/web/two [default/r/rule/0/listener/default/web/two]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := takeSteps(t, Options{}, append(c.documents, routeOn("", "r", "", "["+plainRule("/", "a")+"]"))...)
			if len(s.decided) != 2 || len(s.shared) != 2 {
				t.Fatalf("%d rules decided, %d shared; want one for each listener", len(s.decided), len(s.shared))
			}
			var got []string
			for _, r := range s.decided {
				shared := s.shared[r.at.ruleKey]
				var policies []string
				for _, session := range shared.Sessions {
					for _, p := range session.Policies {
						policies = append(policies, p.Name)
						if !slices.Equal(p.Routes, shared.Routes) {
							t.Errorf("policy %s is for %v, not for %v", p.Name, p.Routes, shared.Routes)
						}
					}
				}
				got = append(got, fmt.Sprintf("%s %v", shared.Routes[0], policies))
			}
			expectLines(t, slices.Compact(got), c.want...)
		})
	}
}

// TestShareChangesNoStep: names for a listener are of the Rule alone; what the cache may keep stays.
func TestShareChangesNoStep(t *testing.T) {
	s := takeSteps(t, Options{}, policyOn(onListener, "sessionName: cart"), routeOn("", "r", "", "["+plainRule("/", "a")+"]"))
	for _, r := range s.configured {
		for _, line := range append(describePolicies(r), r.routes...) {
			if strings.Contains(line, "/listener/") {
				t.Errorf("the configured rule has %s", line)
			}
		}
	}
}

func secondPolicy(policy string) string {
	return strings.Replace(policy, "metadata: {name: p}", "metadata: {name: q}", 1)
}
