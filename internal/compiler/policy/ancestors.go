package policy

import (
	"iter"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// findAncestorLimit finds where policies of any kind have no effect because their status can't list the Gateway (S63).
// That has to be known before anything is merged.
func findAncestorLimit(
	objects *resource.Objects,
	targets *Targets,
	attached *attachedPolicies,
	rules []*attachedRule,
	o Options,
	rep *report.Report,
) *ancestors.Limit {
	in := ancestors.Input{
		Objects: objects, Attachments: listAttachments(objects, targets, attached), Order: o.Order, Paths: listPaths(rules),
	}
	if o.AncestorLimit != nil {
		return o.AncestorLimit(in)
	}
	return ancestors.Find(in, rep)
}

// listAttachments gives what became of the targets of policies of all kinds.
func listAttachments(
	objects *resource.Objects,
	targets *Targets,
	attached *attachedPolicies,
) iter.Seq[ancestors.Attachment] {
	return func(yield func(ancestors.Attachment) bool) {
		for i := range attached.attachments {
			a := &attached.attachments[i]
			if !yield(ancestors.Attachment{Policy: a.Policy.Ref, Target: a.Target, Class: a.Class, Refused: a.Reason != ""}) {
				return
			}
		}
		for _, p := range objects.LoadBalancers {
			for _, t := range resource.LoadBalancerTargets(p) {
				if !yield(ancestors.Attachment{Policy: p.Ref(), Target: t, Refused: !targets.exists[t]}) {
					return
				}
			}
		}
	}
}

// listPaths gives the path to each rule.
func listPaths(rules []*attachedRule) iter.Seq[precedence.TrafficPath] {
	return func(yield func(precedence.TrafficPath) bool) {
		for _, r := range rules {
			if !yield(r.trafficPath()) {
				return
			}
		}
	}
}
