package compiler

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// The most problems that get a suggestion, and names that one lists: an input may have any number of both.
const (
	maxSuggestions = 20
	maxListed      = 5
)

// suggestNames adds to problems about names that are not there what may be meant.
func suggestNames(problems []Problem, visitObjects func(visit func(resource.Entry))) {
	var n *names
	suggested := 0
	for i := range problems {
		p := &problems[i]
		absent, is := resource.ParseAbsence(p.Message)
		if !is {
			continue
		}
		if suggested++; suggested > maxSuggestions {
			return
		}
		if n == nil {
			n = listNames(visitObjects)
		}
		if absent.Section != "" {
			p.Suggestion = n.suggestSection(absent)
		} else {
			p.Suggestion = n.suggestObject(absent.Ref, p.Path)
		}
	}
}

// suggest is suggestNames with those of the input.
func (j *analysis) suggest(problems []Problem) {
	suggestNames(problems, func(visit func(resource.Entry)) {
		j.objects.Visit(func(resource.Traits) bool { return true }, visit)
	})
}

// names are those of the input: of objects by kind and namespace, the namespaces that have an object of a kind and name, and sections by
// object.
type names struct {
	objects    map[object.Ref][]string // by kind and namespace
	namespaces map[object.Ref][]string // by kind and name
	sections   map[object.Ref][]string
}

func listNames(visitObjects func(visit func(resource.Entry))) *names {
	n := &names{map[object.Ref][]string{}, map[object.Ref][]string{}, map[object.Ref][]string{}}
	visitObjects(func(e resource.Entry) {
		beside, alike := object.Ref{Kind: e.Ref.Kind, Namespace: e.Ref.Namespace}, object.Ref{Kind: e.Ref.Kind, Name: e.Ref.Name}
		n.objects[beside] = append(n.objects[beside], e.Ref.Name)
		n.namespaces[alike] = append(n.namespaces[alike], e.Ref.Namespace)
		n.sections[e.Ref] = e.Sections
	})
	for _, lists := range []map[object.Ref][]string{n.objects, n.namespaces} {
		for _, list := range lists {
			slices.Sort(list)
		}
	}
	return n
}

// suggestObject suggests an object of the name in another namespace, or one of a name that is near.
func (n *names) suggestObject(absent object.Ref, path string) string {
	elsewhere := n.namespaces[object.Ref{Kind: absent.Kind, Name: absent.Name}]
	switch {
	case absent.Namespace == "" || len(elsewhere) == 0:
		return suggest.DidYouMean(absent.Name, n.objects[object.Ref{Kind: absent.Kind, Namespace: absent.Namespace}])
	case len(elsewhere) == 1 && strings.HasPrefix(path, "spec.parentRefs"):
		return "; there is one in namespace " + report.ShownPath(elsewhere[0]) + ": write namespace: " + report.ShownPath(elsewhere[0])
	default:
		return "; there is one in namespace " + listFirst(elsewhere)
	}
}

// suggestSection suggests a section of an object by the name that is near, or lists them.
func (n *names) suggestSection(absent object.TargetRef) string {
	sections := n.sections[absent.Ref]
	switch {
	case len(sections) == 0 && slices.Contains(object.RouteKinds, absent.Kind):
		return "; none of its rules has a name"
	case len(sections) == 0:
		return ""
	}
	if near := suggest.DidYouMean(absent.Section, sections); near != "" {
		return near
	}
	return "; it has " + listFirst(sections)
}

// listFirst lists the first of some names.
func listFirst(names []string) string {
	more := ""
	if len(names) > maxListed {
		names, more = names[:maxListed], ", ..."
	}
	return report.ShownPath(strings.Join(names, ", ")) + more
}
