package policy

import (
	"fmt"
	"strings"
	"testing"
)

// TestAttach shows what becomes of each of a policy's targets, and how many warnings there are.
func TestAttach(t *testing.T) {
	const here, missing, invalid = "1 blocks", "TargetNotFound, 0 blocks", "Invalid, 0 blocks"
	for name, c := range map[string]struct {
		policy   string
		want     []string
		warnings int
	}{
		"what is in the input has the policy":   {policyOn(onGateway, ""), []string{here}, 0},
		"each listener is a target":             {policyOn(onListener, "override: {forward: true}, default: {}"), []string{"2 blocks"}, 1},
		"a listener that the Gateway has not":   {policyOn(onNoListener, ""), []string{missing}, 1},
		"one target of three is missing":        {policyOn(onServices+onServiceC, ""), []string{here, here, missing}, 1},
		"a class's policy in its namespace":     {policyOn(onClass, ""), []string{here}, 0},
		"a class's policy in another":           {otherNamespace(policyOn(onClass, "")), []string{invalid}, 1},
		"a fault is reported once":              {policyOn(onServices, "disabled: true, forward: true"), []string{invalid, invalid}, 1},
		"a backend policy on a route":           {trafficPolicyOn(onRoute, ", sessionPersistence: {}"), []string{invalid}, 1},
		"one that is about retries, not for us": {trafficPolicyOn(onRoute, ", retryConstraint: {}"), []string{invalid}, 0},
		"a backend policy without a session":    {trafficPolicyOn(onServiceA, ""), []string{here}, 0},
		"a backend policy with a fault":         {trafficPolicyOn(onServiceA, ", sessionPersistence: {idleTimeout: 0s}"), []string{invalid}, 1},
		"a backend policy on what is not there": {trafficPolicyOn(onServiceC[2:], ", sessionPersistence: {}"), []string{missing}, 1},
		"one of its two targets is not there":   {trafficPolicyOn(onServiceA+onServiceC, ", sessionPersistence: {}"), []string{here, missing}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := takeSteps(t, Options{ClassPolicies: "default"}, c.policy, routeOn("", "r", "", "["+plainRule("/", "a")+"]"))
			var got []string
			for i, a := range s.attached.attachments {
				got = append(got, describeAttachment(s, a))
				if want := fmt.Sprintf("spec.targetRefs[%d]", i); a.Path != want {
					t.Errorf("%s, want %s", a.Path, want)
				}
			}
			expectLines(t, got, c.want...)
			if n := len(s.report.Warnings()); n != c.warnings {
				t.Errorf("%d warnings, want %d: %v", n, c.warnings, s.report.Warnings())
			}
		})
	}
}

const (
	onNoListener = `{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: three}`
	onClass      = `{group: gateway.networking.k8s.io, kind: GatewayClass, name: limpet}`
	onServiceA   = `{group: "", kind: Service, name: a}`
	onServiceC   = `, {group: "", kind: Service, name: c}`
)

// trafficPolicyOn is an XBackendTrafficPolicy on targets.
func trafficPolicyOn(targets, rest string) string {
	return `{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackendTrafficPolicy, metadata: {name: p}, ` +
		`spec: {targetRefs: [` + targets + `]` + rest + `}}`
}

func otherNamespace(policy string) string {
	return strings.Replace(policy, "metadata: {name: p}", "metadata: {name: p, namespace: other}", 1)
}

func describeAttachment(s *steps, a Attachment) string {
	reason := ""
	if a.Reason != "" {
		reason = a.Reason + ", "
	}
	return fmt.Sprintf("%s%d blocks", reason, len(s.attached.index[a.Target]))
}
