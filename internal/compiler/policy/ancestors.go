package policy

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// AncestorLimit are the Gateways on which policies of any kind have no effect, because their status has no room for another
// ancestor (S63).
type AncestorLimit map[object.Ref]map[object.Ref]bool

// Reached reports whether a policy has no effect on a Gateway for want of room.
func (c AncestorLimit) Reached(policy, gateway object.Ref) bool { return c[policy][gateway] }

// findFull finds them before anything is merged. Older Gateways go first.
func (d *decider) findFull(objects *resource.Objects, ports []gateway.Port) {
	d.ancestorLimit = AncestorLimit{}
	taken := d.countAncestors(objects)
	most := 0
	for _, n := range taken {
		most = max(most, n)
	}
	if most+len(objects.Gateways) <= v1alpha1.MaxAncestors {
		return
	}
	d.loadBalancersAt = indexLoadBalancers(objects)
	reached := d.findReached(ports)
	for policy, gateways := range reached {
		if !isPolicyKind(policy) {
			continue
		}
		room := v1alpha1.MaxAncestors - taken[policy]
		for _, g := range objects.Gateways {
			ref := g.Origin().Ref
			if !gateways[ref] {
				continue
			}
			if room--; room >= 0 {
				continue
			}
			if d.ancestorLimit[policy] == nil {
				d.ancestorLimit[policy] = map[object.Ref]bool{}
			}
			d.ancestorLimit[policy][ref] = true
			d.rep.WarnForAt(d.findSubject(policy), string(v1alpha1.ReasonPartiallyProgrammed), "spec.targetRefs",
				"its status has no room for another ancestor: the policy has no effect on "+ref.String())
		}
	}
}

// countAncestors counts the ancestors that a policy has beside Gateways: other controllers', and targets without effect. Policies
// without any are not in it.
func (d *decider) countAncestors(objects *resource.Objects) map[object.Ref]int {
	taken := map[object.Ref]int{}
	count := func(policy object.Ref, more int) {
		if more > 0 {
			taken[policy] += more
		}
	}
	for _, p := range objects.SessionPolicies {
		count(p.Origin().Ref, countForeign(p.Status))
	}
	for _, p := range objects.TrafficPolicies {
		count(p.Origin().Ref, countForeign(p.Status))
	}
	for _, a := range d.attachments {
		if a.Reason != "" {
			count(a.Policy.Ref, 1)
		}
	}
	for _, p := range objects.LoadBalancers {
		count(p.Origin().Ref, countForeign(p.Status))
		for _, t := range LoadBalancerTargets(p) {
			if !d.exists[t] {
				count(p.Origin().Ref, 1)
			}
		}
	}
	return taken
}

func isPolicyKind(o object.Ref) bool {
	return o.Kind == object.KindSessionPolicy || o.Kind == object.KindTrafficPolicy || o.Kind == object.KindLoadBalancer
}

// LoadBalancerTargets are what a LoadBalancerPolicy attaches to, in order, whether it is there or not.
func LoadBalancerTargets(p *resource.Object[v1alpha1.LoadBalancerPolicy]) []object.TargetRef {
	targets := make([]object.TargetRef, len(p.Value.Spec.TargetRefs))
	for i, ref := range p.Value.Spec.TargetRefs {
		targets[i].Ref = object.Ref{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)}
		if ref.SectionName != nil {
			targets[i].Section = string(*ref.SectionName)
		}
	}
	return targets
}

func indexLoadBalancers(objects *resource.Objects) map[object.TargetRef][]object.Ref {
	by := map[object.TargetRef][]object.Ref{}
	for _, p := range objects.LoadBalancers {
		for _, t := range LoadBalancerTargets(p) {
			by[t] = append(by[t], p.Origin().Ref)
		}
	}
	return by
}

// countForeign counts the ancestors that other controllers have written into a status, whatever else it holds.
func countForeign(status any) int {
	fields, _ := status.(map[string]any)
	ancestors, _ := fields["ancestors"].([]any)
	n := 0
	for _, a := range ancestors {
		entry, _ := a.(map[string]any)
		if name, is := entry["controllerName"].(string); is && name != string(v1alpha1.ControllerName) {
			n++
		}
	}
	return n
}

// findReached gives, for each policy, the Gateways that it is on the way of.
func (d *decider) findReached(ports []gateway.Port) map[object.Ref]map[object.Ref]bool {
	reached := map[object.Ref]map[object.Ref]bool{}
	reach := func(policy, gateway object.Ref) {
		if reached[policy] == nil {
			reached[policy] = map[object.Ref]bool{}
		}
		reached[policy][gateway] = true
	}
	seen := map[ruleKey]bool{}
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				key := ruleKey{h.Listener, m.Route, m.Rule}
				if seen[key] {
					continue
				}
				seen[key] = true
				trafficPath := d.trafficPathTo(key)
				for _, b := range d.index.BlocksOn(trafficPath) {
					reach(b.Origin.Ref, trafficPath.Gateway)
				}
				for _, t := range trafficPath.Targets() {
					for _, policy := range d.loadBalancersAt[t] {
						reach(policy, trafficPath.Gateway)
					}
				}
			}
		}
	}
	return reached
}

// trafficPathTo is the way to all backends of a rule.
func (d *decider) trafficPathTo(at ruleKey) precedence.TrafficPath {
	location := d.locateRule(at)
	return location.trafficPath(d.gatherShared(at.route, at.rule).backends...)
}

// blocksOn gives the blocks on a way, but for those of policies without room for its Gateway.
func (d *decider) blocksOn(trafficPath precedence.TrafficPath) []precedence.SettingsBlock {
	blocks := d.index.BlocksOn(trafficPath)
	if len(d.ancestorLimit) == 0 {
		return blocks
	}
	var left []precedence.SettingsBlock
	for _, b := range blocks {
		if !d.ancestorLimit.Reached(b.Origin.Ref, trafficPath.Gateway) {
			left = append(left, b)
		}
	}
	return left
}

// limitedPolicies lists the policies about balancing and retries that would hold on a rule and have no room for its Gateway.
func (d *decider) limitedPolicies(r *Rule) []object.Ref {
	var policies []object.Ref
	note := func(policy object.Ref) {
		if policy.Kind != object.KindSessionPolicy && d.ancestorLimit.Reached(policy, r.Gateway()) {
			policies = append(policies, policy)
		}
	}
	for _, t := range d.trafficPathTo(r.key).Targets() {
		for _, policy := range d.loadBalancersAt[t] {
			note(policy)
		}
		for _, b := range d.index[t] {
			note(b.Origin.Ref)
		}
	}
	return policies
}
