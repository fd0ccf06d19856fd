package compiler

import (
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// mostSuggested is for how many messages names are looked for: each is compared with all names of its kind.
const mostSuggested = 100

// names are those of the input's objects, by kind, and those of their sections.
type names struct {
	byKind   map[string][]object.Ref
	sections map[object.Ref][]string
}

// suggestNames puts the name that may be meant behind what says that an object is not there. It is for people: no
// status has it, for it depends on objects that have nothing to do with the one that the status is of.
func (j *analysis) suggestNames(problems []Problem) {
	var known *names
	left := mostSuggested
	for i := range problems {
		absent, is := resource.ParseAbsence(problems[i].Message)
		if !is || left == 0 {
			continue
		}
		if known == nil {
			known = j.listNames()
		}
		left--
		problems[i].Message += known.suggest(absent)
	}
}

func (o *Options) suggestNames(j *analysis, problems []Problem) {
	if o.SuggestNames {
		j.suggestNames(problems)
	}
}

func (j *analysis) listNames() *names {
	n := &names{map[string][]object.Ref{}, map[object.Ref][]string{}}
	all := func(resource.Traits) bool { return true }
	j.objects.Visit(all, func(e resource.Entry) {
		n.byKind[e.Ref.Kind] = append(n.byKind[e.Ref.Kind], e.Ref)
		n.sections[e.Ref] = e.Sections
	})
	return n
}

// suggest gives a question to be put behind a message: is it another name of the namespace, the same in another, or
// another section?
func (n *names) suggest(absent object.TargetRef) string {
	if sections, is := n.sections[absent.Ref]; is && absent.Section != "" {
		if near := suggest.DidYouMean(absent.Section, sections); near != "" || len(sections) == 0 {
			return near
		}
		return "; it has: " + strings.Join(sections[:min(len(sections), mostSections)], ", ")
	}
	var near, namespaces []string
	for _, ref := range n.byKind[absent.Kind] {
		if ref.Namespace == absent.Namespace {
			near = append(near, ref.Name)
		} else if ref.Name == absent.Name {
			namespaces = append(namespaces, ref.Namespace)
		}
	}
	if question := suggest.DidYouMean(absent.Name, near); question != "" || len(namespaces) == 0 {
		return question
	}
	return "; there is one in the namespace " + namespaces[0]
}

// mostSections is how many sections are listed.
const mostSections = 10
