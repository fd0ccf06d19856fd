package resource

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// sessionPlace is a sessionPersistence of a document, in either shape.
type sessionPlace struct {
	fields map[string]any
	path   *field.Path
}

// release is the one whose CRDs judge the session, in a document that is meant for one; false for fields of both.
func (s sessionPlace) release(main sessionapi.APIRelease) (sessionapi.APIRelease, bool) {
	hinted, consistent := sessionapi.HintedRelease(s.fields)
	return cmp.Or(hinted, main), consistent
}

const (
	// sessionKey is the field that holds a session in every kind that has one inline.
	sessionKey = "sessionPersistence"
	// idleKey is a field of it that Gateway API had up to 1.5 and the CRDs of 1.6 have no longer (S21).
	idleKey = "idleTimeout"
)

// withSessions gives a document's fields with what a function makes of each session; nil leaves it out. What is not of
// the type that it should be is left to the schema.
func (k *Kind) withSessions(fields map[string]any, change func(sessionPlace) map[string]any) map[string]any {
	spec, is := fields["spec"].(map[string]any)
	if k.sessionPath == "" || !is {
		return fields
	}
	path, fields := field.NewPath("spec"), maps.Clone(fields)
	if !strings.Contains(k.sessionPath, "rules[]") {
		fields["spec"] = withSession(spec, path, change)
		return fields
	}
	rules, _ := spec["rules"].([]any)
	rules = slices.Clone(rules)
	for i, rule := range rules {
		if owner, is := rule.(map[string]any); is {
			rules[i] = withSession(owner, path.Child("rules").Index(i), change)
		}
	}
	if spec = maps.Clone(spec); len(rules) > 0 {
		spec["rules"] = rules
	}
	fields["spec"] = spec
	return fields
}

func withSession(owner map[string]any, path *field.Path, change func(sessionPlace) map[string]any) map[string]any {
	fields, is := owner[sessionKey].(map[string]any)
	if !is {
		return owner
	}
	owner = maps.Clone(owner)
	delete(owner, sessionKey)
	if now := change(sessionPlace{fields, path.Child(sessionKey)}); now != nil {
		owner[sessionKey] = now
	}
	return owner
}

// admitWithSessions admits a document whose rules may be of different releases: it is judged by the CRDs of each
// release that it shows, with the sessions of that one alone. They are read as they are written, and the document goes
// on without them, for its Go type has one shape only.
func (a *admitter) admitWithSessions(d *read.Document, k *Kind) {
	var sessions []sessionPlace
	shows, mark := map[sessionapi.APIRelease]bool{}, a.rep.Mark()
	k.withSessions(d.Fields, func(s sessionPlace) map[string]any {
		sessions = append(sessions, s)
		release, consistent := s.release(sessionapi.Unstated)
		if shows[release] = true; !consistent {
			_, errs := sessionapi.ReadInline(s.fields, s.path)
			a.rep.Error(report.InvalidField, d, errs...)
		}
		return nil
	})
	main := a.releaseFor(k, shows)
	of := func(wanted sessionapi.APIRelease) map[string]any {
		return k.withSessions(d.Fields, func(s sessionPlace) map[string]any {
			if release, consistent := s.release(main); !consistent || release != wanted {
				return nil
			}
			fields := runtime.DeepCopyJSON(s.fields)
			delete(fields, idleKey)
			return fields
		})
	}
	chosen, whole := cmp.Or(a.options.Release, main), map[string]any(nil)
	isOthers := func(s sessionPlace) bool {
		release, consistent := s.release(main)
		return !consistent || release != chosen || s.fields[idleKey] != nil
	}
	if !a.options.AssumeAdmitted && (main != chosen || slices.ContainsFunc(sessions, isOthers)) {
		whole = runtime.DeepCopyJSON(d.Fields)
	}
	judged := of(main)
	a.applyCRDs(d, judged, main)
	if other := sessionapi.Release16 + sessionapi.Release17 - main; shows[other] {
		a.applyCRDs(d, of(other), other)
	}
	a.readSessions(d, sessions, main, mark)
	if whole != nil {
		a.warnRefused(d, whole, chosen, a.rep.Since(mark))
	}
	d.Fields = k.withSessions(judged, func(sessionPlace) map[string]any { return nil })
}

// releaseFor is the release whose CRDs a document is meant for: what it shows, else what the option says.
func (a *admitter) releaseFor(k *Kind, shows map[sessionapi.APIRelease]bool) sessionapi.APIRelease {
	switch {
	case k == xbackendKind, shows[sessionapi.Release17]:
		return sessionapi.Release17
	case shows[sessionapi.Release16], a.options.Release == sessionapi.Unstated:
		return sessionapi.Release16
	default:
		return a.options.Release
	}
}

// readSessions reads what stands inline. Where there was an error since the mark, the reader would say the same in
// other words, but for an idleTimeout, whose check is here, for the CRDs have not seen it.
func (a *admitter) readSessions(d *read.Document, sessions []sessionPlace, main sessionapi.APIRelease, mark int) {
	for _, s := range sessions {
		value, has := s.fields[idleKey]
		if release, consistent := s.release(main); !has || !consistent || release != sessionapi.Release16 {
			continue
		}
		text, is := value.(string)
		if _, err := policyconfig.ParseDuration(text); !is {
			a.rep.Error(report.InvalidField, d, field.TypeInvalid(s.path.Child(idleKey), value, "must be a string"))
		} else if err != nil {
			a.rep.Error(report.InvalidField, d, field.Invalid(s.path.Child(idleKey), text, err.Error()))
		}
	}
	for _, s := range sessions {
		if a.rep.Mark() > mark {
			return
		}
		inline, errs := sessionapi.ReadInline(s.fields, s.path)
		a.rep.Error(report.InvalidField, d, errs...)
		if a.sessions == nil {
			a.sessions = map[string]*sessionapi.InlineSession{}
		}
		a.sessions[s.path.String()] = inline
	}
}

// warnRefused says what an API server with the CRDs of a release does not take of a document that is read all the same,
// but for what is an error (S20, S21).
func (a *admitter) warnRefused(
	d *read.Document,
	fields map[string]any,
	of sessionapi.APIRelease,
	errors []report.Problem,
) {
	server := crdReleases[of]
	for _, e := range a.admitters[of].Admit(fields) {
		isReported := slices.ContainsFunc(errors, func(p report.Problem) bool { return p.Path == report.ShownPath(e.Field) })
		switch {
		case isReported || e.Field == "" || e.Field == "<nil>": // which says that there are others
		case admission.IsUnknownField(e):
			a.rep.WarnAt(
				report.DroppedField,
				d,
				e.Field,
				fmt.Sprintf("is no field of Gateway API %s: its API server refuses the %s, "+
					"or drops the field without a word where fields are not validated%s",
					server, d.StringAt("kind"), sayWhere(e.Field)),
			)
		default:
			a.rep.WarnAt(report.DroppedField, d, e.Field, fmt.Sprintf("the API server of Gateway API %s refuses the %s: %s",
				server, d.StringAt("kind"), e.ErrorBody()))
		}
	}
}

// sayWhere says where a field may be written that is in no release any more.
func sayWhere(path string) string {
	if strings.HasSuffix(path, "."+idleKey) {
		return "; write it in a SessionPersistencePolicy"
	}
	return ""
}

var crdReleases = map[sessionapi.APIRelease]admission.APIRelease{
	sessionapi.Release16: admission.Gateway16, sessionapi.Release17: admission.Gateway17,
}

// The fields of sessionPersistence that began with 1.7 or are in both shapes, and those of the shape up to 1.6.
func sessionFields17() support.Fields {
	return support.All("type", "absoluteTimeout", "cookie.name", "cookie.path", "cookie.lifetimeType", "header.name")
}

func sessionFields16() support.Fields {
	return support.All("sessionName", "idleTimeout", "cookieConfig.lifetimeType")
}
