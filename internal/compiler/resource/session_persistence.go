package resource

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// sessionPlace is where in a document a sessionPersistence stands, in either shape.
type sessionPlace struct {
	owner  map[string]any // what it stands in
	fields map[string]any // what stands there
	path   *field.Path
}

// sessionKey is the field that holds a session in every kind that has one inline.
const sessionKey = "sessionPersistence"

// findSessions finds the places of a document's sessions. What is not of the type that it should be is left to the schema.
func findSessions(k *Kind, fields map[string]any) []sessionPlace {
	spec, _ := fields["spec"].(map[string]any)
	if k.sessionPath == "" {
		return nil
	}
	if !strings.Contains(k.sessionPath, "rules[]") {
		return appendSession(nil, spec, field.NewPath("spec"))
	}
	var all []sessionPlace
	rules, _ := spec["rules"].([]any)
	for i, rule := range rules {
		owner, _ := rule.(map[string]any)
		all = appendSession(all, owner, field.NewPath("spec", "rules").Index(i))
	}
	return all
}

func appendSession(all []sessionPlace, owner map[string]any, path *field.Path) []sessionPlace {
	if fields, is := owner[sessionKey].(map[string]any); is {
		all = append(all, sessionPlace{owner: owner, fields: fields, path: path.Child(sessionKey)})
	}
	return all
}

// admitWithSessions admits a document whose rules may be of different generations: it is judged by the CRDs of each
// generation that it shows, with the sessions of that one alone.
func (a *admitter) admitWithSessions(d *read.Document, k *Kind) {
	sessions, mark := findSessions(k, d.Fields), a.rep.Mark()
	by := map[sessionapi.APIRelease][]sessionPlace{}
	for _, s := range sessions {
		apiRelease, one := sessionapi.HintedRelease(s.fields)
		switch {
		case !one:
			_, errs := sessionapi.ReadInline(s.fields, s.path)
			a.rep.Error(d, errs...)
			delete(s.owner, sessionKey)
		default:
			by[apiRelease] = append(by[apiRelease], s)
		}
	}
	apiRelease := a.releaseFor(k, by)
	by[apiRelease] = append(by[apiRelease], by[sessionapi.Unstated]...)
	delete(by, sessionapi.Unstated)
	a.warnPruned(d, k.Kind, len(by[sessionapi.Release17]) > 0)
	idle := takeIdleTimeouts(by[sessionapi.Release16])
	a.admitByRelease(d, apiRelease, by)
	for _, s := range sessions {
		if text, had := idle[s.path.String()]; had {
			a.restoreIdleTimeout(d, s, text)
		}
	}
	a.readSessions(d, sessions, mark)
}

// releaseFor is the generation whose CRDs a document is meant for: what it shows, else what the option says.
func (a *admitter) releaseFor(k *Kind, by map[sessionapi.APIRelease][]sessionPlace) sessionapi.APIRelease {
	switch {
	case k == xbackendKind, len(by[sessionapi.Release17]) > 0:
		return sessionapi.Release17
	case len(by[sessionapi.Release16]) > 0, a.options.Release == sessionapi.Unstated:
		return sessionapi.Release16
	default:
		return a.options.Release
	}
}

// admitByRelease lets the CRDs of a generation judge the document with its sessions, then those of the other generation the
// sessions that are left.
func (a *admitter) admitByRelease(d *read.Document, apiRelease sessionapi.APIRelease, by map[sessionapi.APIRelease][]sessionPlace) {
	for _, g := range []sessionapi.APIRelease{apiRelease, sessionapi.Release16 + sessionapi.Release17 - apiRelease} {
		if g != apiRelease && len(by[g]) == 0 {
			continue
		}
		others := by[sessionapi.Release16+sessionapi.Release17-g]
		for _, s := range others {
			delete(s.owner, sessionKey)
		}
		a.applyCRDs(d, g)
		for _, s := range others {
			s.owner[sessionKey] = s.fields
		}
	}
}

// takeIdleTimeouts takes out each idleTimeout, which Gateway API had up to 1.5 and the CRDs of 1.6 have no longer (S21).
func takeIdleTimeouts(sessions []sessionPlace) map[string]any {
	taken := map[string]any{}
	for _, s := range sessions {
		if text, has := s.fields["idleTimeout"]; has {
			taken[s.path.String()] = text
			delete(s.fields, "idleTimeout")
		}
	}
	return taken
}

// restoreIdleTimeout puts an idleTimeout back, with the check that its CRD had.
func (a *admitter) restoreIdleTimeout(d *read.Document, s sessionPlace, value any) {
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
func (a *admitter) readSessions(d *read.Document, sessions []sessionPlace, mark int) {
	for _, s := range sessions {
		if s.owner[sessionKey] == nil {
			continue // refused above
		}
		inline, errs := sessionapi.ReadInline(s.fields, s.path)
		delete(s.owner, sessionKey)
		if a.rep.Mark() > mark {
			continue
		}
		if len(errs) > 0 {
			a.rep.Error(d, errs...)
			continue
		}
		if a.sessions == nil {
			a.sessions = map[string]*sessionapi.InlineSession{}
		}
		a.sessions[s.path.String()] = inline
	}
}

// warnPruned says what a cluster with Gateway API 1.6, as the option says, would drop of a document of 1.7 without a
// word (S20).
func (a *admitter) warnPruned(d *read.Document, kind string, of17 bool) {
	if a.options.Release != sessionapi.Release16 || !of17 {
		return
	}
	for _, path := range a.admitters[sessionapi.Release16].Pruned(d.Fields) {
		if strings.Contains(path, sessionKey) {
			a.rep.WarnAt(d, path, fmt.Sprintf("is a field of Gateway API 1.7: a cluster with 1.6 drops it from the %s without a word", kind))
		}
	}
}

var crdReleases = map[sessionapi.APIRelease]admission.APIRelease{
	sessionapi.Release16: admission.Gateway16, sessionapi.Release17: admission.Gateway17,
}

// The fields of sessionPersistence that began with 1.7 or are in both shapes, and those of the shape up to 1.6.
func sessionFields17() fieldSupport {
	return supportAll("type", "absoluteTimeout", "cookie.name", "cookie.path", "cookie.lifetimeType", "header.name")
}

func sessionFields16() fieldSupport {
	return supportAll("sessionName", "idleTimeout", "cookieConfig.lifetimeType")
}
