package follow

import (
	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// Statuses is what the statuses of all objects are written from, but for what there is to say and what is known of proxies: what the
// parts come to, put together.
func (s *State) Statuses() status.Input {
	in := status.Input{Objects: s.store.Objects()}
	in.Objects.Sort()
	in.Objects.Controller = s.objects.context.Controller
	decisions := &policy.Decisions{AncestorLimit: ancestors.NewLimit(ancestors.Input{Attachments: noAttachments}, s.room.reached)}
	for _, p := range in.Objects.SessionPolicies {
		decisions.Attachments = append(decisions.Attachments, s.attachments[p]...)
	}
	for _, a := range s.frame.streams.attachments {
		if a.Policy.Kind == object.KindTrafficPolicy {
			decisions.Attachments = append(decisions.Attachments, a)
		}
	}
	in.Decisions = decisions
	var parts []status.Part
	for g := range s.groups.all {
		parts = append(parts, g.part.status)
	}
	in.SetParts(s.frame.streams.status, parts)
	return in
}

// noAttachments are none: where policies are attached is in the decisions.
func noAttachments(func(ancestors.Attachment) bool) {}
