package policy

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Crowded are the Gateways on which policies of any kind have no effect, because their status has no room for another
// ancestor (S63).
type Crowded map[ladder.Object]map[ladder.Object]bool

// At reports whether a policy has no effect on a Gateway for want of room.
func (c Crowded) At(policy, gateway ladder.Object) bool { return c[policy][gateway] }

// crowd finds them before anything is merged. Older Gateways go first.
func (d *decider) crowd(objects *resource.Objects, ports []gateway.Port) {
	d.crowded = Crowded{}
	taken := d.taken(objects)
	most := 0
	for _, n := range taken {
		most = max(most, n)
	}
	if most+len(objects.Gateways) <= v1alpha1.MaxAncestors {
		return
	}
	d.balancers = balancersBy(objects)
	reached := d.reached(ports)
	for policy, gateways := range reached {
		if !isPolicy(policy) {
			continue
		}
		room := v1alpha1.MaxAncestors - taken[policy]
		for _, g := range objects.Gateways {
			object := g.Source().Object
			if !gateways[object] {
				continue
			}
			if room--; room >= 0 {
				continue
			}
			if d.crowded[policy] == nil {
				d.crowded[policy] = map[ladder.Object]bool{}
			}
			d.crowded[policy][object] = true
			d.rep.WarnForAt(d.subject(policy), string(v1alpha1.ReasonPartiallyProgrammed), "spec.targetRefs",
				"its status has no room for another ancestor: the policy has no effect on "+object.String())
		}
	}
}

// taken counts the ancestors that a policy has beside Gateways: other controllers', and targets without effect. Policies
// without any are not in it.
func (d *decider) taken(objects *resource.Objects) map[ladder.Object]int {
	taken := map[ladder.Object]int{}
	count := func(policy ladder.Object, more int) {
		if more > 0 {
			taken[policy] += more
		}
	}
	for _, p := range objects.SessionPolicies {
		count(p.Source().Object, foreign(p.Status))
	}
	for _, p := range objects.TrafficPolicies {
		count(p.Source().Object, foreign(p.Status))
	}
	for _, a := range d.attachments {
		if a.Reason != "" {
			count(a.Policy.Object, 1)
		}
	}
	for _, p := range objects.LoadBalancers {
		count(p.Source().Object, foreign(p.Status))
		for _, t := range BalancerTargets(p) {
			if !d.exists[t] {
				count(p.Source().Object, 1)
			}
		}
	}
	return taken
}

func isPolicy(o ladder.Object) bool {
	return o.Kind == ladder.KindSessionPolicy || o.Kind == ladder.KindTrafficPolicy || o.Kind == ladder.KindLoadBalancer
}

// BalancerTargets are what a LoadBalancerPolicy attaches to, in order, whether it is there or not.
func BalancerTargets(p *resource.Object[v1alpha1.LoadBalancerPolicy]) []ladder.Target {
	targets := make([]ladder.Target, len(p.Value.Spec.TargetRefs))
	for i, ref := range p.Value.Spec.TargetRefs {
		targets[i].Object = ladder.Object{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)}
		if ref.SectionName != nil {
			targets[i].Section = string(*ref.SectionName)
		}
	}
	return targets
}

func balancersBy(objects *resource.Objects) map[ladder.Target][]ladder.Object {
	by := map[ladder.Target][]ladder.Object{}
	for _, p := range objects.LoadBalancers {
		for _, t := range BalancerTargets(p) {
			by[t] = append(by[t], p.Source().Object)
		}
	}
	return by
}

// foreign counts the ancestors that other controllers have written into a status, whatever else it holds.
func foreign(status any) int {
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

// reached gives, for each policy, the Gateways that it is on the way of.
func (d *decider) reached(ports []gateway.Port) map[ladder.Object]map[ladder.Object]bool {
	reached := map[ladder.Object]map[ladder.Object]bool{}
	reach := func(policy, gateway ladder.Object) {
		if reached[policy] == nil {
			reached[policy] = map[ladder.Object]bool{}
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
				way := d.wayTo(key)
				for _, b := range d.index.On(way) {
					reach(b.Source.Object, way.Gateway)
				}
				for _, t := range way.Targets() {
					for _, policy := range d.balancers[t] {
						reach(policy, way.Gateway)
					}
				}
			}
		}
	}
	return reached
}

// wayTo is the way to all backends of a rule.
func (d *decider) wayTo(at ruleKey) ladder.Way {
	scene := d.scene(at)
	return scene.way(d.gather(at.route, at.rule).backends...)
}

// on gives the blocks on a way, but for those of policies without room for its Gateway.
func (d *decider) on(way ladder.Way) []ladder.Block {
	blocks := d.index.On(way)
	if len(d.crowded) == 0 {
		return blocks
	}
	var left []ladder.Block
	for _, b := range blocks {
		if !d.crowded.At(b.Source.Object, way.Gateway) {
			left = append(left, b)
		}
	}
	return left
}

// crowdedOn lists the policies about balancing and retries that would hold on a rule and have no room for its Gateway.
func (d *decider) crowdedOn(r *Rule) []ladder.Object {
	var policies []ladder.Object
	note := func(policy ladder.Object) {
		if policy.Kind != ladder.KindSessionPolicy && d.crowded.At(policy, r.Gateway()) {
			policies = append(policies, policy)
		}
	}
	for _, t := range d.wayTo(r.key).Targets() {
		for _, policy := range d.balancers[t] {
			note(policy)
		}
		for _, b := range d.index[t] {
			note(b.Source.Object)
		}
	}
	return policies
}
