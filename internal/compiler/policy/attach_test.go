package policy

import (
	"fmt"
	"strings"
	"testing"
)

// TestAttach shows what becomes of a policy's targets, and whether the report names it.
func TestAttach(t *testing.T) {
	trafficPolicy := func(target, rest string) string {
		return `{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackendTrafficPolicy, metadata: {name: p}, spec: {targetRefs: [` + target + `]` + rest + `}}`
	}
	class := `{group: gateway.networking.k8s.io, kind: GatewayClass, name: limpet}`
	for name, c := range map[string]struct {
		policy   string
		want     []string
		warnings int
	}{
		"what is in the input has the policy":  {policyOn(onGateway, ""), []string{"spec.targetRefs[0]: 1 blocks"}, 0},
		"each listener is a target":            {policyOn(onListener, "override: {absoluteTimeout: 1h}, default: {idleTimeout: 1h}"), []string{"spec.targetRefs[0]: 2 blocks"}, 0},
		"a listener that the Gateway has not":  {policyOn(`{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: three}`, ""), []string{"spec.targetRefs[0]: TargetNotFound, 0 blocks"}, 1},
		"one target of two is missing":         {policyOn(onServices+`, {group: "", kind: Service, name: c}`, ""), []string{"spec.targetRefs[0]: 1 blocks", "spec.targetRefs[1]: 1 blocks", "spec.targetRefs[2]: TargetNotFound, 0 blocks"}, 1},
		"a class's policy in its namespace":    {policyOn(class, ""), []string{"spec.targetRefs[0]: 1 blocks"}, 0},
		"a class's policy in another":          {policyOn(class, "") + "\n---\n" + otherNamespace(policyOn(class, "")), []string{"spec.targetRefs[0]: 1 blocks", "spec.targetRefs[0]: Invalid, 1 blocks"}, 1},
		"a fault is reported once":             {policyOn(onServices, "disabled: true, idleTimeout: 1h"), []string{"spec.targetRefs[0]: Invalid, 0 blocks", "spec.targetRefs[1]: Invalid, 0 blocks"}, 1},
		"a backend policy on a route":          {trafficPolicy(onRoute, ", sessionPersistence: {}"), []string{"spec.targetRefs[0]: Invalid, 0 blocks"}, 1},
		"a retry budget there is not for here": {trafficPolicy(onRoute, ", retryConstraint: {}"), []string{"spec.targetRefs[0]: Invalid, 0 blocks"}, 0},
		"a backend policy without a session":   {trafficPolicy(`{group: "", kind: Service, name: a}`, ""), []string{"spec.targetRefs[0]: 1 blocks"}, 0},
		"a backend policy with a fault":        {trafficPolicy(`{group: "", kind: Service, name: a}`, `, sessionPersistence: {absoluteTimeout: 0s}`), []string{"spec.targetRefs[0]: Invalid, 0 blocks"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := takeSteps(t, Options{ClassPolicies: "default"}, c.policy, routeOn("", "r", "", "["+plainRule("/", "a")+"]"))
			var got []string
			for _, a := range s.attached.attachments {
				got = append(got, describeAttachment(s, a))
			}
			expectLines(t, got, c.want...)
			if n := len(s.report.Warnings()); n != c.warnings {
				t.Errorf("%d warnings, want %d: %v", n, c.warnings, s.report.Warnings())
			}
		})
	}
}

func otherNamespace(policy string) string {
	return strings.Replace(policy, "metadata: {name: p}", "metadata: {name: p, namespace: other}", 1)
}

func describeAttachment(s *steps, a Attachment) string {
	reason := ""
	if a.Reason != "" {
		reason = a.Reason + ", "
	}
	return fmt.Sprintf("%s: %s%d blocks", a.Path, reason, len(s.attached.index[a.Target]))
}
