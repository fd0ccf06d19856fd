// Package sessionapi reads the session persistence that Gateway API's own kinds write inline, in the shapes of every
// release from 1.5 to 1.7, and tells which release a document means (S17 to S21 of docs/semantics.md).
package sessionapi

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// InlineSession is what a sessionPersistence of a rule, an XBackend or an XBackendTrafficPolicy writes.
type InlineSession struct {
	Settings v1alpha1.SessionSettings
	// Release is the API release that the fields show, ReleaseFields the names of those that do (S18).
	Release       APIRelease
	ReleaseFields []string
}

// The fields of each shape, those first that show its generation.
var (
	releaseFields16 = []string{"sessionName", "cookieConfig", "idleTimeout"}
	releaseFields17 = []string{"cookie", "header"}
	sharedFields    = []string{"absoluteTimeout", "type"}
)

// HintedRelease is the release whose fields a sessionPersistence has, Unstated for none (S18), and false if it mixes
// the fields of two (S19).
func HintedRelease(fields map[string]any) (release APIRelease, consistent bool) {
	of16, of17 := listSetFields(fields, releaseFields16), listSetFields(fields, releaseFields17)
	switch {
	case len(of16) > 0 && len(of17) > 0:
		return Unstated, false
	case len(of17) > 0:
		return Release17, true
	case len(of16) > 0:
		return Release16, true
	default:
		return Unstated, true
	}
}

// ReadInline reads a sessionPersistence of either shape as it stands in a document. Mixing the shapes is an error
// (S19), as are unknown fields, other types than the API's, and fields of the type that is not the block's.
func ReadInline(fields map[string]any, path *field.Path) (*InlineSession, field.ErrorList) {
	r := inlineReader{}
	r.refuseUnknown(fields, path, slices.Concat(releaseFields16, releaseFields17, sharedFields)...)
	of16, of17 := listSetFields(fields, releaseFields16), listSetFields(fields, releaseFields17)
	i := &InlineSession{}
	switch {
	case len(of16) > 0 && len(of17) > 0:
		for _, name := range of17 {
			r.errs = append(r.errs, field.Forbidden(
				path.Child(name),
				"may not be set together with "+strings.Join(
					of16,
					", ",
				)+": Gateway API 1.7 has the one, the releases up to 1.6 the other",
			))
		}
	case len(of17) > 0:
		i.Release, i.ReleaseFields, i.Settings = Release17, of17, r.readRelease17(fields, path)
	default:
		i.ReleaseFields, i.Settings = of16, r.readRelease16(fields, path)
		if len(of16) > 0 {
			i.Release = Release16
		}
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return i, nil
}

// listSetFields lists those of the names that are set; null is the same as absent.
func listSetFields(fields map[string]any, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return fields[name] == nil })
}

// inlineReader reads a document's values and collects what is wrong with them.
type inlineReader struct{ errs field.ErrorList }

// readRelease16 reads the shape up to 1.6, with the idleTimeout that it had up to 1.5 (S21).
func (r *inlineReader) readRelease16(fields map[string]any, path *field.Path) (s v1alpha1.SessionSettings) {
	s.SessionName = readText[v1alpha1.SessionName](r, fields, path, "sessionName")
	s.AbsoluteTimeout = readText[v1alpha1.Duration](r, fields, path, "absoluteTimeout")
	s.IdleTimeout = readText[v1alpha1.Duration](r, fields, path, "idleTimeout")
	s.Type = r.readType(fields, path)
	if config, at := r.readMapping(fields, path, "cookieConfig", "lifetimeType"); config != nil {
		s.Cookie = &v1alpha1.Cookie{LifetimeType: r.readLifetime(config, at)}
		r.forbidUnderHeader(s.Type, at)
	}
	omitDefaults(&s)
	return s
}

// readRelease17 reads the shape of Gateway API 1.7.
func (r *inlineReader) readRelease17(fields map[string]any, path *field.Path) (s v1alpha1.SessionSettings) {
	s.AbsoluteTimeout = readText[v1alpha1.Duration](r, fields, path, "absoluteTimeout")
	s.Type = r.readType(fields, path)
	header, headerAt := r.readMapping(fields, path, "header", "name")
	if cookie, at := r.readMapping(fields, path, "cookie", "name", "path", "lifetimeType"); cookie != nil {
		s.SessionName = readText[v1alpha1.SessionName](r, cookie, at, "name")
		s.Cookie = &v1alpha1.Cookie{Path: readText[string](r, cookie, at, "path"), LifetimeType: r.readLifetime(cookie, at)}
		r.forbidUnderHeader(s.Type, at)
		if header != nil {
			r.errs = append(r.errs, field.Forbidden(headerAt, "may not be set together with cookie"))
		}
	}
	omitDefaults(&s)
	if header != nil {
		s.Type = new(policyconfig.Type)
		*s.Type = policyconfig.TypeHeader
		s.Header = &v1alpha1.Header{Name: r.readHeaderName(header, headerAt)}
	}
	return s
}

func (r *inlineReader) readHeaderName(header map[string]any, path *field.Path) v1alpha1.HeaderName {
	if header["name"] == nil {
		r.errs = append(r.errs, field.Required(path.Child("name"), ""))
	}
	if name := readText[v1alpha1.HeaderName](r, header, path, "name"); name != nil {
		return *name
	}
	return ""
}

// omitDefaults takes out what equals the API's default: it counts as not written (S8). A cookie's attributes being
// there write the type; the default's name does not.
func omitDefaults(s *v1alpha1.SessionSettings) {
	if s.Type != nil && *s.Type == policyconfig.TypeCookie {
		s.Type = nil
	}
	if s.Cookie == nil {
		return
	}
	if s.Type == nil {
		s.Type = new(policyconfig.Type)
		*s.Type = policyconfig.TypeCookie
	}
	if c := s.Cookie; c.LifetimeType != nil && *c.LifetimeType == policyconfig.LifetimeSession {
		c.LifetimeType = nil
	}
	if c := s.Cookie; c.Path != nil && *c.Path == "/" {
		c.Path = nil
	}
}

func (r *inlineReader) forbidUnderHeader(kind *policyconfig.Type, path *field.Path) {
	if kind != nil && *kind == policyconfig.TypeHeader {
		r.errs = append(r.errs, field.Forbidden(path, "may only be set with type Cookie"))
	}
}

func (r *inlineReader) readType(fields map[string]any, path *field.Path) *policyconfig.Type {
	return readChoice(r, fields, path, "type", policyconfig.TypeCookie, policyconfig.TypeHeader)
}

func (r *inlineReader) readLifetime(fields map[string]any, path *field.Path) *policyconfig.LifetimeType {
	return readChoice(r, fields, path, "lifetimeType", policyconfig.LifetimePermanent, policyconfig.LifetimeSession)
}

// readMapping gives a field that holds fields, nil if it is absent.
func (r *inlineReader) readMapping(
	fields map[string]any,
	path *field.Path,
	name string,
	known ...string,
) (map[string]any, *field.Path) {
	at := path.Child(name)
	value, is := fields[name].(map[string]any)
	if !is {
		if fields[name] != nil {
			r.errs = append(r.errs, field.TypeInvalid(at, fields[name], "must be an object"))
		}
		return nil, at
	}
	r.refuseUnknown(value, at, known...)
	return value, at
}

// refuseUnknown refuses every other field.
func (r *inlineReader) refuseUnknown(fields map[string]any, path *field.Path, names ...string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			r.errs = append(r.errs, field.Forbidden(path.Child(name), "unknown field"))
		}
	}
}

// readText gives a text, nil if it is absent.
func readText[T ~string](r *inlineReader, fields map[string]any, path *field.Path, name string) *T {
	value, is := fields[name].(string)
	if !is {
		if fields[name] != nil {
			r.errs = append(r.errs, field.TypeInvalid(path.Child(name), fields[name], "must be a string"))
		}
		return nil
	}
	t := T(value)
	return &t
}

// readChoice gives one of several texts, nil if it is absent.
func readChoice[T ~string](r *inlineReader, fields map[string]any, path *field.Path, name string, of ...T) *T {
	t := readText[T](r, fields, path, name)
	if t != nil && !slices.Contains(of, *t) {
		r.errs = append(r.errs, field.NotSupported(path.Child(name), *t, of))
		return nil
	}
	return t
}
