package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
)

// builtIn is the place of values that no document writes.
const builtIn = "built in"

// addRequests adds how requests without a session are balanced, and the timeouts and retries of all: for an object on
// their path, or of a policy.
func (d *describer) addRequests(out *Description, target object.TargetRef) {
	for _, s := range d.Traffic {
		for _, path := range s.Paths {
			if slices.Contains(path.Targets(), target) {
				out.Requests = append(out.Requests, d.describeTraffic(s, path))
				if s.Retries != nil {
					out.Retries = append(out.Retries, d.describeRetries(s, path))
				}
			}
			if effect, any := d.describeTrafficEffect(target.Ref, s, path); any {
				out.Effects = append(out.Effects, effect)
			}
		}
	}
	out.Requests = mergeItems(mergeItems(out.Requests, selectVia), selectBackends)
	out.Retries = mergeItems(mergeItems(out.Retries, selectVia), selectBackends)
}

// describeTraffic shows what holds for one backend on a path.
func (d *describer) describeTraffic(s *lower.BackendTraffic, path precedence.TrafficPath) UnpinnedRequests {
	r := UnpinnedRequests{
		TrafficPath: newTrafficPath(path, s.Rule),
		Fields:      append(d.describeBalancing(&s.LoadBalancing), d.describeBudget(s)...),
	}
	if s.LoadBalancing.Note != "" {
		r.Notes = append(r.Notes, formatOwner(s.LoadBalancing.Policy)+s.LoadBalancing.Note)
	}
	for _, c := range s.LoadBalancing.Candidates {
		if c.AncestorLimit {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: no effect here, for its status has no room for %s", c.Name, path.Gateway))
		}
	}
	if s.NoBudgetReason != "" {
		r.Notes = append(r.Notes, "no retry budget here: "+s.NoBudgetReason)
	}
	return r
}

func formatOwner(p *loadbalancing.Policy) string {
	if p == nil {
		return ""
	}
	return p.Name + ": "
}

// describeBalancing shows the strategy, what it overrides, and what is hashed.
func (d *describer) describeBalancing(o *loadbalancing.Outcome) []Field {
	strategy := Field{Name: "strategy", Origin: Origin{Value: o.StrategyName(), Block: builtIn}}
	if o.Policy != nil && o.Policy.StrategyName() == o.StrategyName() {
		strategy.Origin = d.newOriginAt(o.StrategyName(), o.Policy.Object, findLocation(o, o.Policy), o.Policy.StrategyPath())
	}
	for _, c := range o.Candidates {
		if c.Policy != o.Policy || strategy.Object == "" {
			strategy.Overrides = append(
				strategy.Overrides,
				d.newOriginAt(c.StrategyName(), c.Object, c.Location, c.StrategyPath()),
			)
		}
	}
	all := []Field{strategy}
	for i, h := range o.Hashes {
		all = append(all, Field{
			Name:   fmt.Sprintf("requestHashPolicies[%d]", i),
			Origin: d.newOriginAt(h.String(), o.Policy.Object, findLocation(o, o.Policy), h.Path),
		})
	}
	for _, h := range o.HostFields() {
		all = append(
			all,
			Field{Name: h.Name, Origin: d.newOriginAt(h.Value, o.Policy.Object, findLocation(o, o.Policy), h.Path)},
		)
	}
	return all
}

// findLocation is where an effective policy is attached: at a place of the backend's own, or at another backend under
// one session.
func findLocation(o *loadbalancing.Outcome, p *loadbalancing.Policy) string {
	for _, c := range o.Candidates {
		if c.Policy == p {
			return c.Location
		}
	}
	return "on another Service of the split"
}

// describeBudget shows the retry budget, and what it overrides.
func (d *describer) describeBudget(s *lower.BackendTraffic) (all []Field) {
	if s.RetryBudget == nil {
		return nil
	}
	for i, f := range s.EffectiveBudget.Fields {
		field := Field{Name: trimSpec(f.Path), Origin: Origin{Value: f.Value, Block: builtIn}}
		if !f.Default {
			field.Origin = d.newOriginAt(f.Value, s.EffectiveBudget.Policy, "on the Service", f.Path)
		}
		for _, overridden := range s.EffectiveBudget.Overridden {
			if l := overridden.Fields[i]; !l.Default {
				field.Overrides = append(field.Overrides, d.newOriginAt(l.Value, overridden.Policy, "on the Service", l.Path))
			}
		}
		all = append(all, field)
	}
	return all
}

func trimSpec(path string) string { return strings.TrimPrefix(path, "spec.") }

// newOriginAt says where a value of a policy without levels stands.
func (d *describer) newOriginAt(value string, ref object.Ref, block, path string) Origin {
	o := Origin{Value: value, Block: block, Object: ref.String(), Path: path, ref: ref}
	o.File, o.Line = d.locate(ref, path)
	return o
}

// describeTrafficEffect shows what a policy does to requests without a session on a path; false if it has no effect
// there.
func (d *describer) describeTrafficEffect(
	ref object.Ref,
	s *lower.BackendTraffic,
	path precedence.TrafficPath,
) (Effect, bool) {
	e := Effect{TrafficPath: newTrafficPath(path, s.Rule)}
	switch ref.Kind {
	case object.KindLoadBalancer:
		d.addBalancingEffect(&e, ref, &s.LoadBalancing)
	case object.KindTrafficPolicy:
		d.addBudgetEffect(&e, ref, s)
	}
	return e, len(e.Effective)+len(e.Overridden)+len(e.Notes) > 0
}

func (d *describer) addBalancingEffect(e *Effect, ref object.Ref, o *loadbalancing.Outcome) {
	fields := d.describeBalancing(o)
	for _, f := range fields {
		if f.ref == ref {
			e.Effective = append(e.Effective, f)
		}
	}
	for _, b := range fields[0].Overrides {
		if b.ref == ref {
			e.Overridden = append(e.Overridden, OverriddenField{Name: fields[0].Name, Origin: b, By: fields[0].Origin})
		}
	}
	if o.Note != "" && (o.Policy != nil && o.Policy.Object == ref || len(e.Overridden) > 0) {
		e.Notes = append(e.Notes, o.Note)
	}
}

func (d *describer) addBudgetEffect(e *Effect, ref object.Ref, s *lower.BackendTraffic) {
	for _, f := range d.describeBudget(s) {
		if f.ref == ref {
			e.Effective = append(e.Effective, f)
		}
	}
	switch {
	case s.EffectiveBudget == nil:
	case s.EffectiveBudget.Policy == ref && s.NoBudgetReason != "":
		e.Notes = append(e.Notes, "no retry budget here: "+s.NoBudgetReason)
	default:
		e.Overridden = append(e.Overridden, d.listOverriddenBudget(ref, s.EffectiveBudget)...)
	}
}

// listOverriddenBudget are the fields of a policy that loses to another on its Service.
func (d *describer) listOverriddenBudget(
	ref object.Ref,
	effective *retrybudget.EffectiveBudget,
) (all []OverriddenField) {
	for _, overridden := range effective.Overridden {
		for i, f := range overridden.Fields {
			if overridden.Policy != ref || f.Default {
				continue
			}
			by := Origin{Block: "on the Service", Object: effective.Policy.String(), Path: "spec"}
			if effective.Fields != nil {
				by.Value, by.Path = effective.Fields[i].Value, effective.Fields[i].Path
			}
			by.File, by.Line = d.locate(effective.Policy, by.Path)
			all = append(
				all,
				OverriddenField{Name: trimSpec(f.Path), Origin: d.newOriginAt(f.Value, ref, "on the Service", f.Path), By: by},
			)
		}
	}
	return all
}
