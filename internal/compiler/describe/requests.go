package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
)

// builtIn is the place of values that nobody writes.
const builtIn = "built in"

// requests adds how requests without a session get to backends, and how long all may take: for an object on their way,
// or of a policy.
func (d *describer) requests(out *Description, target ladder.Target) {
	for _, s := range d.Spreads {
		for _, way := range s.Ways {
			if slices.Contains(way.Targets(), target) {
				out.Requests = append(out.Requests, d.spread(s, way))
				if s.Tries != nil {
					out.Tries = append(out.Tries, d.tries(s, way))
				}
			}
			if effect, any := d.spreadEffect(target.Object, s, way); any {
				out.Effects = append(out.Effects, effect)
			}
		}
	}
	out.Requests = together(together(out.Requests, via), backends)
	out.Tries = together(together(out.Tries, via), backends)
}

// spread shows what holds for one backend on a way.
func (d *describer) spread(s *lower.Spread, way ladder.Way) Requests {
	r := Requests{Way: wayOf(way, s.Rule), Fields: append(d.balancing(&s.Balance), d.retries(s)...)}
	if s.Balance.Note != "" {
		r.Notes = append(r.Notes, whose(s.Balance.By)+s.Balance.Note)
	}
	for _, c := range s.Balance.Candidates {
		if c.Crowded {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: no effect here, for its status has no room for %s", c.Name, way.Gateway))
		}
	}
	if s.Unbudgeted != "" {
		r.Notes = append(r.Notes, "no retry budget here: "+s.Unbudgeted)
	}
	return r
}

func whose(p *loadbalancing.Policy) string {
	if p == nil {
		return ""
	}
	return p.Name + ": "
}

// balancing shows the strategy, what it beats, and what is hashed.
func (d *describer) balancing(o *loadbalancing.Outcome) []Field {
	strategy := Field{Name: "strategy", Origin: Origin{Value: o.Word(), Block: builtIn}}
	if o.By != nil && o.By.Word() == o.Word() {
		strategy.Origin = d.written(o.Word(), o.By.Object, placeOf(o, o.By), o.By.Path())
	}
	for _, c := range o.Candidates {
		if c.Policy != o.By || strategy.Object == "" {
			strategy.Beats = append(strategy.Beats, d.written(c.Word(), c.Object, c.Place, c.Path()))
		}
	}
	all := []Field{strategy}
	for i, h := range o.Hashes {
		all = append(all, Field{
			Name:   fmt.Sprintf("requestHashPolicies[%d]", i),
			Origin: d.written(h.String(), o.By.Object, placeOf(o, o.By), h.Path),
		})
	}
	return all
}

// placeOf is what gives a policy the word: a place of the backend's own, or of another backend's under one session.
func placeOf(o *loadbalancing.Outcome, p *loadbalancing.Policy) string {
	for _, c := range o.Candidates {
		if c.Policy == p {
			return c.Place
		}
	}
	return "on another Service of the split"
}

// retries shows the retry budget, and what it beats.
func (d *describer) retries(s *lower.Spread) (all []Field) {
	if s.Budget == nil {
		return nil
	}
	for i, f := range s.Held.Fields {
		field := Field{Name: fieldName(f.Path), Origin: Origin{Value: f.Value, Block: builtIn}}
		if !f.Default {
			field.Origin = d.written(f.Value, s.Held.Policy, "on the Service", f.Path)
		}
		for _, lost := range s.Held.Lost {
			if l := lost.Fields[i]; !l.Default {
				field.Beats = append(field.Beats, d.written(l.Value, lost.Policy, "on the Service", l.Path))
			}
		}
		all = append(all, field)
	}
	return all
}

func fieldName(path string) string { return strings.TrimPrefix(path, "spec.") }

// written says where a value of a policy without rungs stands.
func (d *describer) written(value string, object ladder.Object, block, path string) Origin {
	o := Origin{Value: value, Block: block, Object: object.String(), Path: path}
	o.File, o.Line = d.place(o.Object, path)
	return o
}

// spreadEffect shows what a policy does to requests without a session on a way; false if it has no say there.
func (d *describer) spreadEffect(object ladder.Object, s *lower.Spread, way ladder.Way) (Effect, bool) {
	e := Effect{Way: wayOf(way, s.Rule)}
	switch object.Kind {
	case ladder.KindLoadBalancer:
		d.balancerEffect(&e, object, &s.Balance)
	case ladder.KindTrafficPolicy:
		d.budgetEffect(&e, object, s)
	}
	return e, len(e.Holds)+len(e.Beaten)+len(e.Notes) > 0
}

func (d *describer) balancerEffect(e *Effect, object ladder.Object, o *loadbalancing.Outcome) {
	fields := d.balancing(o)
	for _, f := range fields {
		if f.Object == object.String() {
			e.Holds = append(e.Holds, f)
		}
	}
	for _, b := range fields[0].Beats {
		if b.Object == object.String() {
			e.Beaten = append(e.Beaten, Beaten{Name: fields[0].Name, Origin: b, By: fields[0].Origin})
		}
	}
	if o.Note != "" && (o.By != nil && o.By.Object == object || len(e.Beaten) > 0) {
		e.Notes = append(e.Notes, o.Note)
	}
}

func (d *describer) budgetEffect(e *Effect, object ladder.Object, s *lower.Spread) {
	for _, f := range d.retries(s) {
		if f.Object == object.String() {
			e.Holds = append(e.Holds, f)
		}
	}
	switch {
	case s.Held == nil:
	case s.Held.Policy == object && s.Unbudgeted != "":
		e.Notes = append(e.Notes, "no retry budget here: "+s.Unbudgeted)
	default:
		e.Beaten = append(e.Beaten, d.beatenBudget(object, s.Held)...)
	}
}

// beatenBudget are the fields of a policy that loses to another on its Service.
func (d *describer) beatenBudget(object ladder.Object, held *retrybudget.Held) (all []Beaten) {
	for _, lost := range held.Lost {
		for i, f := range lost.Fields {
			if lost.Policy != object || f.Default {
				continue
			}
			by := Origin{Block: "on the Service", Object: held.Policy.String(), Path: "spec"}
			if held.Fields != nil {
				by.Value, by.Path = held.Fields[i].Value, held.Fields[i].Path
			}
			by.File, by.Line = d.place(by.Object, by.Path)
			all = append(all, Beaten{Name: fieldName(f.Path), Origin: d.written(f.Value, object, "on the Service", f.Path), By: by})
		}
	}
	return all
}
