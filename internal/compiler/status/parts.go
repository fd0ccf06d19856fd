package status

import (
	"cmp"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Part is what some routes come to, for the statuses of all objects. Each route is in one part.
type Part struct {
	Attachments *gateway.AttachmentStatus
	Paths       []*policy.Decision
	Renames     []policy.Rename
	Traffic     []*lower.BackendTraffic
}

// SetParts makes statuses from the results of parts, as if they were one. The first part has the Gateways' results.
func (in *Input) SetParts(first Part, others []Part) {
	attachments, decisions := *first.Attachments, *in.Decisions
	attachments.Parents = map[object.Ref][]gateway.ParentStatus{}
	for _, p := range append([]Part{first}, others...) {
		maps.Copy(attachments.Parents, p.Attachments.Parents)
		decisions.Paths = append(decisions.Paths, p.Paths...)
		decisions.Renames = append(decisions.Renames, p.Renames...)
		in.Traffic = append(in.Traffic, p.Traffic...)
	}
	slices.SortStableFunc(decisions.Paths, func(a, b *policy.Decision) int { return resource.ByAge(a.Route, b.Route) })
	slices.SortStableFunc(decisions.Renames, policy.CompareRenames)
	slices.SortStableFunc(in.Traffic, func(a, b *lower.BackendTraffic) int {
		return cmp.Or(resource.ByAge(a.Route, b.Route), cmp.Compare(a.Rule, b.Rule))
	})
	in.Attachments, in.Decisions = &attachments, &decisions
}
