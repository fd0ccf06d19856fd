package policy

import (
	"iter"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// findAncestorLimit finds where policies of any kind have no effect, before anything is merged.
func (d *decider) findAncestorLimit(objects *resource.Objects, ports []gateway.Port) {
	d.ancestorLimit = ancestors.Find(ancestors.Input{
		Objects: objects, Attachments: d.listAttachments(objects), Paths: d.listPaths(ports),
	}, d.rep)
}

// listAttachments gives what became of the targets of policies of all kinds.
func (d *decider) listAttachments(objects *resource.Objects) iter.Seq[ancestors.Attachment] {
	return func(yield func(ancestors.Attachment) bool) {
		for i := range d.attachments {
			a := &d.attachments[i]
			if !yield(ancestors.Attachment{Policy: a.Policy.Ref, Target: a.Target, Refused: a.Reason != ""}) {
				return
			}
		}
		for _, p := range objects.LoadBalancers {
			for _, t := range resource.LoadBalancerTargets(p) {
				if !yield(ancestors.Attachment{Policy: p.Origin().Ref, Target: t, Refused: !d.exists[t]}) {
					return
				}
			}
		}
	}
}

// listPaths gives the path through each listener to all backends of each rule.
func (d *decider) listPaths(ports []gateway.Port) iter.Seq[precedence.TrafficPath] {
	return func(yield func(precedence.TrafficPath) bool) {
		seen := map[ruleKey]bool{}
		for _, p := range ports {
			for _, h := range p.Hosts {
				for _, m := range h.Matches {
					key := ruleKey{h.Listener, m.Route, m.Rule}
					if seen[key] {
						continue
					}
					seen[key] = true
					if !yield(d.trafficPathTo(key)) {
						return
					}
				}
			}
		}
	}
}

// trafficPathTo is the way to all backends of a rule.
func (d *decider) trafficPathTo(at ruleKey) precedence.TrafficPath {
	location := d.locateRule(at)
	return location.trafficPath(d.gatherShared(at.route, at.rule).backends...)
}

// blocksOn gives the blocks on a way, but for those of policies without room for its Gateway.
func (d *decider) blocksOn(trafficPath precedence.TrafficPath) []precedence.SettingsBlock {
	blocks := d.index.BlocksOn(trafficPath)
	if d.ancestorLimit == nil {
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
	if d.ancestorLimit == nil {
		return nil
	}
	return slices.DeleteFunc(d.ancestorLimit.PoliciesOff(d.trafficPathTo(r.key)), func(p object.Ref) bool { return p.Kind == object.KindSessionPolicy })
}
