package resource

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/policy-config"
)

// sessionsAt says where kinds have a sessionPersistence, as a pattern of Carried.
var sessionsAt = map[string]string{
	"HTTPRoute":             "spec.rules[].sessionPersistence",
	"GRPCRoute":             "spec.rules[].sessionPersistence",
	"XBackend":              "spec.sessionPersistence",
	"XBackendTrafficPolicy": "spec.sessionPersistence",
}

// session is one sessionPersistence of a document, in either shape.
type session struct {
	owner  map[string]any // what it stands in
	fields map[string]any
	path   *field.Path
}

const sessionKey = "sessionPersistence"

// sessionsOf finds a document's sessions. What is not of the type that it should be is left to the schema.
func sessionsOf(kind string, fields map[string]any) []session {
	at, has := sessionsAt[kind]
	spec, _ := fields["spec"].(map[string]any)
	if !has {
		return nil
	}
	if !strings.Contains(at, "rules[]") {
		return appendSession(nil, spec, field.NewPath("spec"))
	}
	var all []session
	rules, _ := spec["rules"].([]any)
	for i, rule := range rules {
		owner, _ := rule.(map[string]any)
		all = appendSession(all, owner, field.NewPath("spec", "rules").Index(i))
	}
	return all
}

func appendSession(all []session, owner map[string]any, path *field.Path) []session {
	if fields, is := owner[sessionKey].(map[string]any); is {
		all = append(all, session{owner: owner, fields: fields, path: path.Child(sessionKey)})
	}
	return all
}

// The fields that show a session's generation (S18).
var (
	telling16 = []string{"sessionName", "cookieConfig", "idleTimeout"}
	telling17 = []string{"cookie", "header"}
)

// shows is the generation that a session's fields show (S18), and false if they show both (S19).
func (s session) shows() (ladder.Generation, bool) {
	set := func(name string) bool { return s.fields[name] != nil }
	of16, of17 := slices.ContainsFunc(telling16, set), slices.ContainsFunc(telling17, set)
	switch {
	case of16 && of17:
		return ladder.Unstated, false
	case of17:
		return ladder.Gen17, true
	case of16:
		return ladder.Gen16, true
	default:
		return ladder.Unstated, true
	}
}

// admitWithSessions admits a document whose rules may be of different generations: it is judged by the CRDs of each
// generation that it shows, with the sessions of that one alone.
func (a *admitter) admitWithSessions(d *read.Document, kind string) {
	sessions, mark := sessionsOf(kind, d.Fields), a.rep.Mark()
	by := map[ladder.Generation][]session{}
	for _, s := range sessions {
		gen, one := s.shows()
		switch {
		case !one:
			_, errs := ladder.ReadInline(s.fields, s.path)
			a.rep.Error(d, errs...)
			delete(s.owner, sessionKey)
		default:
			by[gen] = append(by[gen], s)
		}
	}
	gen := a.generationOf(kind, by)
	by[gen] = append(by[gen], by[ladder.Unstated]...)
	delete(by, ladder.Unstated)
	a.foretell(d, kind, len(by[ladder.Gen17]) > 0)
	idle := takeIdle(by[ladder.Gen16])
	a.admitAs(d, gen, by)
	for _, s := range sessions {
		if text, had := idle[s.path.String()]; had {
			a.restoreIdle(d, s, text)
		}
	}
	a.readSessions(d, sessions, mark)
}

// generationOf is the generation whose CRDs a document is meant for: what it shows, else what the option says.
func (a *admitter) generationOf(kind string, by map[ladder.Generation][]session) ladder.Generation {
	switch {
	case kind == "XBackend", len(by[ladder.Gen17]) > 0:
		return ladder.Gen17
	case len(by[ladder.Gen16]) > 0, a.options.Generation == ladder.Unstated:
		return ladder.Gen16
	default:
		return a.options.Generation
	}
}

// admitAs lets the CRDs of a generation judge the document with its sessions, then those of the other generation the
// sessions that are left.
func (a *admitter) admitAs(d *read.Document, gen ladder.Generation, by map[ladder.Generation][]session) {
	for _, g := range []ladder.Generation{gen, ladder.Gen16 + ladder.Gen17 - gen} {
		if g != gen && len(by[g]) == 0 {
			continue
		}
		others := by[ladder.Gen16+ladder.Gen17-g]
		for _, s := range others {
			delete(s.owner, sessionKey)
		}
		a.admit(d, g)
		for _, s := range others {
			s.owner[sessionKey] = s.fields
		}
	}
}

// takeIdle takes out each idleTimeout, which Gateway API had up to 1.5 and the CRDs of 1.6 have no longer (S21).
func takeIdle(sessions []session) map[string]any {
	taken := map[string]any{}
	for _, s := range sessions {
		if text, has := s.fields["idleTimeout"]; has {
			taken[s.path.String()] = text
			delete(s.fields, "idleTimeout")
		}
	}
	return taken
}

// restoreIdle puts an idleTimeout back, with the check that its CRD had.
func (a *admitter) restoreIdle(d *read.Document, s session, value any) {
	s.fields["idleTimeout"] = value
	text, is := value.(string)
	if !is {
		a.rep.Error(d, field.TypeInvalid(s.path.Child("idleTimeout"), value, "must be a string"))
	} else if _, err := policyconfig.ParseDuration(text); err != nil {
		a.rep.Error(d, field.Invalid(s.path.Child("idleTimeout"), text, err.Error()))
	}
}

// readSessions reads what stands inline, and takes it out of the document, whose Go type has one shape only. Where
// there was an error since the mark, the reader would say the same in other words.
func (a *admitter) readSessions(d *read.Document, sessions []session, mark int) {
	for _, s := range sessions {
		if s.owner[sessionKey] == nil {
			continue // refused above
		}
		inline, errs := ladder.ReadInline(s.fields, s.path)
		delete(s.owner, sessionKey)
		if a.rep.Mark() > mark {
			continue
		}
		if len(errs) > 0 {
			a.rep.Error(d, errs...)
			continue
		}
		if a.sessions == nil {
			a.sessions = map[string]*ladder.Inline{}
		}
		a.sessions[s.path.String()] = inline
	}
}

// foretell says what a cluster with Gateway API 1.6, as the option says, would drop of a document of 1.7 without a
// word (S20).
func (a *admitter) foretell(d *read.Document, kind string, of17 bool) {
	if a.options.Generation != ladder.Gen16 || !of17 {
		return
	}
	for _, path := range a.servers[ladder.Gen16].Pruned(d.Fields) {
		if strings.Contains(path, sessionKey) {
			a.rep.WarnAt(d, path, fmt.Sprintf("is a field of Gateway API 1.7: a cluster with 1.6 drops it from the %s without a word", kind))
		}
	}
}

var admissions = map[ladder.Generation]admission.Generation{
	ladder.Gen16: admission.Gateway16, ladder.Gen17: admission.Gateway17,
}
