package follow

import (
	"maps"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// Decided is what statuses are written from as it is at a time, whatever becomes of the state.
type Decided struct {
	objects *resource.Objects
	frame   *groupPart
	parts   []status.Part
	// attachments and reached are those of the state.
	attachments map[*sessionPolicy][]policy.Attachment
	reached     map[object.Ref]map[object.Ref]bool
}

// Decided takes down what was decided.
func (s *State) Decided() *Decided {
	d := &Decided{
		objects: s.store.Objects(), frame: s.frame.streams,
		attachments: maps.Clone(s.attachments), reached: maps.Clone(s.room.reached),
	}
	d.objects.Controller, d.objects.PassedOver = s.objects.context.Controller, s.store.PassedOver()
	for g := range s.groups.all {
		d.parts = append(d.parts, g.part.status)
	}
	return d
}

// Statuses is what the statuses of all objects are written from, but for what there is to say and what is known of proxies: what the
// parts come to, put together.
func (d *Decided) Statuses() status.Input {
	in := status.Input{Objects: d.objects, Decisions: &policy.Decisions{
		AncestorLimit: ancestors.NewLimit(ancestors.Input{Attachments: noAttachments}, d.reached),
	}}
	in.Objects.Sort()
	for _, p := range in.Objects.SessionPolicies {
		in.Decisions.Attachments = append(in.Decisions.Attachments, d.attachments[p]...)
	}
	for _, a := range d.frame.attachments {
		if a.Policy.Kind == object.KindTrafficPolicy {
			in.Decisions.Attachments = append(in.Decisions.Attachments, a)
		}
	}
	in.SetParts(d.frame.status, d.parts)
	return in
}

// noAttachments are none: where policies are attached is in the decisions.
func noAttachments(func(ancestors.Attachment) bool) {}
