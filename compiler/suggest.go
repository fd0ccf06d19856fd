package compiler

import (
	"regexp"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// absent is how messages say that an object is not there (resource.Objects.Absence): its kind, its name, and the section that is meant.
var absent = regexp.MustCompile(`there is no ([A-Z]\w+) ([^\s/]+/)?([^\s/,:]+)(?:, sectionName ([^\s,:]+))? in the input`)

// mostSuggested is for how many messages names are looked for: each is compared with all names of its kind.
const mostSuggested = 100

// names are those of the input's objects, by kind, and those of their sections.
type names struct {
	byKind   map[string][]string
	sections map[string][]string // by "KIND NAMESPACE/NAME"
}

// suggestNames puts the name that may be meant behind what says that an object is not there. It is for people: no status has it, for it
// depends on objects that have nothing to do with the one that the status is of.
func (j *analysis) suggestNames(problems []Problem) {
	var known *names
	left := mostSuggested
	for i := range problems {
		m := absent.FindStringSubmatch(problems[i].Message)
		if m == nil || left == 0 {
			continue
		}
		if known == nil {
			known = j.listNames()
		}
		left--
		problems[i].Message += known.suggest(m[1], m[2], m[3], m[4])
	}
}

func (o *Options) suggestNames(j *analysis, problems []Problem) {
	if o.SuggestNames {
		j.suggestNames(problems)
	}
}

func (j *analysis) listNames() *names {
	n := &names{map[string][]string{}, map[string][]string{}}
	all := func(resource.Traits) bool { return true }
	j.objects.Visit(all, func(e resource.Entry) {
		n.byKind[e.Ref.Kind] = append(n.byKind[e.Ref.Kind], e.Ref.Key())
		n.sections[e.Ref.Kind+" "+e.Ref.Key()] = e.Sections
	})
	return n
}

// suggest gives a question to be put behind a message: is it another name of the namespace, the same in another, or another section?
func (n *names) suggest(kind, namespace, name, section string) string {
	if sections, is := n.sections[kind+" "+namespace+name]; is && section != "" {
		if near := suggest.DidYouMean(section, sections); near != "" || len(sections) == 0 {
			return near
		}
		return "; it has: " + strings.Join(sections[:min(len(sections), mostSections)], ", ")
	}
	var near, elsewhere []string
	for _, key := range n.byKind[kind] {
		if of, other := cutNamespace(key); of == namespace {
			near = append(near, other)
		} else if other == name {
			elsewhere = append(elsewhere, key)
		}
	}
	if question := suggest.DidYouMean(name, near); question != "" || len(elsewhere) == 0 {
		return question
	}
	in, _ := cutNamespace(elsewhere[0])
	return "; there is one in the namespace " + strings.TrimSuffix(in, "/")
}

// mostSections is how many sections are listed.
const mostSections = 10

// cutNamespace cuts a key into the namespace, with the slash behind it, and the name.
func cutNamespace(key string) (namespace, name string) {
	at := strings.LastIndex(key, "/") + 1
	return key[:at], key[at:]
}
