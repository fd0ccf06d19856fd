package status

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// decisionIndex is what was decided, arranged by what is asked for.
type decisionIndex struct {
	paths       map[object.TargetRef][]*policy.Decision
	attachments map[object.Ref][]*policy.Attachment       // by the policy
	effective   map[object.TargetRef][]*policy.Attachment // of SessionPersistencePolicies that hold there
	renames     map[object.Ref][]*policy.Rename           // by who writes the name
}

// noteAt appends to a list of a map what is not there yet as its last.
func noteAt[K, V comparable](to map[K][]V, key K, value V) {
	if list := to[key]; len(list) == 0 || list[len(list)-1] != value {
		to[key] = append(list, value)
	}
}

func indexDecisions(d *policy.Decisions) decisionIndex {
	out := decisionIndex{
		paths: map[object.TargetRef][]*policy.Decision{}, attachments: map[object.Ref][]*policy.Attachment{},
		effective: map[object.TargetRef][]*policy.Attachment{}, renames: map[object.Ref][]*policy.Rename{},
	}
	for _, w := range d.Paths {
		for _, t := range w.Path.Targets() {
			noteAt(out.paths, t, w)
		}
	}
	for i := range d.Attachments {
		a := &d.Attachments[i]
		out.attachments[a.Policy.Ref] = append(out.attachments[a.Policy.Ref], a)
		if a.Reason == "" && a.Policy.Kind == object.KindSessionPolicy {
			out.effective[a.Target] = append(out.effective[a.Target], a)
		}
	}
	for i := range d.Renames {
		r := &d.Renames[i]
		out.renames[r.By.Origin.Ref] = append(out.renames[r.By.Origin.Ref], r)
	}
	return out
}
