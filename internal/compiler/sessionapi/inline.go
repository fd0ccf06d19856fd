// Package sessionapi reads the session persistence that Gateway API's own kinds write inline, in the shapes of every
// release from 1.5 to 1.7, and tells which release a document means (S17 to S21 of docs/semantics.md).
package sessionapi

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// SessionPersistence16 is the shape up to Gateway API 1.6, with the idleTimeout that it had up to 1.5 (S21).
type SessionPersistence16 struct {
	gatewayv1.SessionPersistence
	IdleTimeout *gatewayv1.Duration
}

// SessionPersistence17 is the shape of Gateway API 1.7, whose own package needs a newer Go than ours.
type SessionPersistence17 struct {
	AbsoluteTimeout *gatewayv1.Duration
	Type            *gatewayv1.SessionPersistenceType
	Cookie          *Cookie17
	Header          *Header17
}

// Cookie17 is CookieConfig of Gateway API 1.7.
type Cookie17 struct {
	Name, Path   *string
	LifetimeType *gatewayv1.CookieLifetimeType
}

// Header17 is HeaderConfig of Gateway API 1.7.
type Header17 struct{ Name string }

// InlineSession is what a sessionPersistence of a rule, an XBackend or an XBackendTrafficPolicy writes.
type InlineSession struct {
	Settings v1alpha1.SessionSettings
	// Release is the generation that the fields show, Telling the names of those that do (S18).
	Release       APIRelease
	ReleaseFields []string
}

// ConvertRelease16 converts the shape up to 1.6. What equals the API's default is not written (S8).
func ConvertRelease16(sp *SessionPersistence16) v1alpha1.SessionSettings {
	s := convertCommon(sp.AbsoluteTimeout, sp.Type, sp.CookieConfig != nil)
	s.IdleTimeout = convertText[v1alpha1.Duration](sp.IdleTimeout)
	s.SessionName = convertText[v1alpha1.SessionName](sp.SessionName)
	if sp.CookieConfig != nil {
		s.Cookie = &v1alpha1.Cookie{LifetimeType: convertLifetime(sp.CookieConfig.LifetimeType)}
	}
	return s
}

// ConvertRelease17 converts the shape of 1.7. What equals the API's default is not written (S8).
func ConvertRelease17(sp *SessionPersistence17) v1alpha1.SessionSettings {
	s := convertCommon(sp.AbsoluteTimeout, sp.Type, sp.Cookie != nil)
	if c := sp.Cookie; c != nil {
		s.SessionName = convertText[v1alpha1.SessionName](c.Name)
		s.Cookie = &v1alpha1.Cookie{LifetimeType: convertLifetime(c.LifetimeType)}
		if c.Path != nil && *c.Path != "/" {
			s.Cookie.Path = c.Path
		}
	}
	if sp.Header != nil {
		s.Type = new(policyconfig.Type)
		*s.Type = policyconfig.TypeHeader
		s.Header = &v1alpha1.Header{Name: v1alpha1.HeaderName(sp.Header.Name)}
	}
	return s
}

// convertCommon is what all shapes have. The cookie's attributes being there writes the type, the default's name does not.
func convertCommon(absolute *gatewayv1.Duration, kind *gatewayv1.SessionPersistenceType, cookie bool) v1alpha1.SessionSettings {
	s := v1alpha1.SessionSettings{AbsoluteTimeout: convertText[v1alpha1.Duration](absolute), Type: convertText[policyconfig.Type](kind)}
	if s.Type != nil && *s.Type == policyconfig.TypeCookie {
		s.Type = nil
	}
	if s.Type == nil && cookie {
		s.Type = new(policyconfig.Type)
		*s.Type = policyconfig.TypeCookie
	}
	return s
}

func convertLifetime(l *gatewayv1.CookieLifetimeType) *policyconfig.LifetimeType {
	if l == nil || *l == gatewayv1.SessionCookieLifetimeType {
		return nil
	}
	return convertText[policyconfig.LifetimeType](l)
}

// convertText copies a text into one of another type.
func convertText[T, S ~string](s *S) *T {
	if s == nil {
		return nil
	}
	t := T(*s)
	return &t
}

// The fields of each shape, those first that show its generation.
var (
	releaseFields16 = []string{"sessionName", "cookieConfig", "idleTimeout"}
	releaseFields17 = []string{"cookie", "header"}
	sharedFields    = []string{"absoluteTimeout", "type"}
)

// HintedRelease is the release whose fields a sessionPersistence has, Unstated for none (S18), and false if it mixes the
// fields of two (S19).
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
			r.errs = append(r.errs, field.Forbidden(path.Child(name),
				"may not be set beside "+strings.Join(of16, ", ")+": Gateway API 1.7 has the one, the releases up to 1.6 the other"))
		}
	case len(of17) > 0:
		i.Release, i.ReleaseFields, i.Settings = Release17, of17, ConvertRelease17(r.readRelease17(fields, path))
	default:
		i.ReleaseFields, i.Settings = of16, ConvertRelease16(r.readRelease16(fields, path))
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

func (r *inlineReader) readRelease16(fields map[string]any, path *field.Path) *SessionPersistence16 {
	sp := &SessionPersistence16{}
	sp.SessionName = readText[string](r, fields, path, "sessionName")
	sp.AbsoluteTimeout = readText[gatewayv1.Duration](r, fields, path, "absoluteTimeout")
	sp.IdleTimeout = readText[gatewayv1.Duration](r, fields, path, "idleTimeout")
	sp.Type = r.readType(fields, path)
	if config, at := r.readMapping(fields, path, "cookieConfig", "lifetimeType"); config != nil {
		sp.CookieConfig = &gatewayv1.CookieConfig{LifetimeType: r.readLifetime(config, at)}
		r.forbidUnderHeader(sp.Type, at)
	}
	return sp
}

func (r *inlineReader) readRelease17(fields map[string]any, path *field.Path) *SessionPersistence17 {
	sp := &SessionPersistence17{
		AbsoluteTimeout: readText[gatewayv1.Duration](r, fields, path, "absoluteTimeout"),
		Type:            r.readType(fields, path),
	}
	header, headerAt := r.readMapping(fields, path, "header", "name")
	if cookie, at := r.readMapping(fields, path, "cookie", "name", "path", "lifetimeType"); cookie != nil {
		sp.Cookie = &Cookie17{
			Name: readText[string](r, cookie, at, "name"), Path: readText[string](r, cookie, at, "path"), LifetimeType: r.readLifetime(cookie, at),
		}
		r.forbidUnderHeader(sp.Type, at)
		if header != nil {
			r.errs = append(r.errs, field.Forbidden(headerAt, "may not be set beside cookie"))
		}
	}
	if header != nil {
		sp.Header = &Header17{}
		if name := readText[string](r, header, headerAt, "name"); name != nil {
			sp.Header.Name = *name
		} else if header["name"] == nil {
			r.errs = append(r.errs, field.Required(headerAt.Child("name"), ""))
		}
	}
	return sp
}

func (r *inlineReader) forbidUnderHeader(kind *gatewayv1.SessionPersistenceType, path *field.Path) {
	if kind != nil && *kind == gatewayv1.HeaderBasedSessionPersistence {
		r.errs = append(r.errs, field.Forbidden(path, "may only be set with type Cookie"))
	}
}

func (r *inlineReader) readType(fields map[string]any, path *field.Path) *gatewayv1.SessionPersistenceType {
	return readChoice(r, fields, path, "type", gatewayv1.CookieBasedSessionPersistence, gatewayv1.HeaderBasedSessionPersistence)
}

func (r *inlineReader) readLifetime(fields map[string]any, path *field.Path) *gatewayv1.CookieLifetimeType {
	return readChoice(r, fields, path, "lifetimeType", gatewayv1.PermanentCookieLifetimeType, gatewayv1.SessionCookieLifetimeType)
}

// readMapping gives a field that holds fields, nil if it is absent.
func (r *inlineReader) readMapping(fields map[string]any, path *field.Path, name string, known ...string) (map[string]any, *field.Path) {
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
