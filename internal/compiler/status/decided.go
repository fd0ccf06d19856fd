package status

import (
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// decided is what was decided, arranged by what is asked for.
type decided struct {
	ways        map[ladder.Target][]*policy.Decision
	attachments map[ladder.Object][]*policy.Attachment // by the policy
	holding     map[ladder.Target][]*policy.Attachment // of SessionPersistencePolicies that hold there
	renames     map[ladder.Object][]*policy.Rename     // by who writes the name
}

func arrange(d *policy.Decisions) decided {
	out := decided{
		ways: map[ladder.Target][]*policy.Decision{}, attachments: map[ladder.Object][]*policy.Attachment{},
		holding: map[ladder.Target][]*policy.Attachment{}, renames: map[ladder.Object][]*policy.Rename{},
	}
	for _, w := range d.Ways {
		seen := map[ladder.Target]bool{}
		for _, t := range w.Way.Targets() {
			if !seen[t] {
				seen[t] = true
				out.ways[t] = append(out.ways[t], w)
			}
		}
	}
	for i := range d.Attachments {
		a := &d.Attachments[i]
		out.attachments[a.Policy.Object] = append(out.attachments[a.Policy.Object], a)
		if a.Reason == "" && a.Policy.Kind == ladder.KindSessionPolicy {
			out.holding[a.Target] = append(out.holding[a.Target], a)
		}
	}
	for i := range d.Renames {
		r := &d.Renames[i]
		out.renames[r.By.Source.Object] = append(out.renames[r.By.Source.Object], r)
	}
	return out
}
