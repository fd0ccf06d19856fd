package ladder

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/policy-config"
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

// Inline is what a sessionPersistence of a rule, an XBackend or an XBackendTrafficPolicy writes.
type Inline struct {
	Settings v1alpha1.SessionSettings
	// Shows is the generation that the fields show, Telling the names of those that do (S18).
	Shows   Generation
	Telling []string
}

// Block puts the settings on a rung.
func (i *Inline) Block(rung Rung, source Source, target Target, path string) Block {
	return Block{Rung: rung, Source: source, Target: target, Path: path, Shows: i.Shows, Settings: &i.Settings}
}

// From16 converts the shape up to 1.6. What equals the API's default is not written (S8).
func From16(sp *SessionPersistence16) v1alpha1.SessionSettings {
	s := common(sp.AbsoluteTimeout, sp.Type, sp.CookieConfig != nil)
	s.IdleTimeout = as[v1alpha1.Duration](sp.IdleTimeout)
	s.SessionName = as[v1alpha1.SessionName](sp.SessionName)
	if sp.CookieConfig != nil {
		s.Cookie = &v1alpha1.Cookie{LifetimeType: lifetime(sp.CookieConfig.LifetimeType)}
	}
	return s
}

// From17 converts the shape of 1.7. What equals the API's default is not written (S8).
func From17(sp *SessionPersistence17) v1alpha1.SessionSettings {
	s := common(sp.AbsoluteTimeout, sp.Type, sp.Cookie != nil)
	if c := sp.Cookie; c != nil {
		s.SessionName = as[v1alpha1.SessionName](c.Name)
		s.Cookie = &v1alpha1.Cookie{LifetimeType: lifetime(c.LifetimeType)}
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

// common is what all shapes have. The cookie's attributes being there writes the type, the default's name does not.
func common(absolute *gatewayv1.Duration, kind *gatewayv1.SessionPersistenceType, cookie bool) v1alpha1.SessionSettings {
	s := v1alpha1.SessionSettings{AbsoluteTimeout: as[v1alpha1.Duration](absolute), Type: as[policyconfig.Type](kind)}
	if s.Type != nil && *s.Type == policyconfig.TypeCookie {
		s.Type = nil
	}
	if s.Type == nil && cookie {
		s.Type = new(policyconfig.Type)
		*s.Type = policyconfig.TypeCookie
	}
	return s
}

func lifetime(l *gatewayv1.CookieLifetimeType) *policyconfig.LifetimeType {
	if l == nil || *l == gatewayv1.SessionCookieLifetimeType {
		return nil
	}
	return as[policyconfig.LifetimeType](l)
}

// as copies a text into one of another type.
func as[T, S ~string](s *S) *T {
	if s == nil {
		return nil
	}
	t := T(*s)
	return &t
}

// The fields of each shape, those first that show its generation.
var (
	telling16 = []string{"sessionName", "cookieConfig", "idleTimeout"}
	telling17 = []string{"cookie", "header"}
	untelling = []string{"absoluteTimeout", "type"}
)

// ReadInline reads a sessionPersistence of either shape as it stands in a document. Mixing the shapes is an error
// (S19), as are unknown fields, other types than the API's, and fields of the type that is not the block's.
func ReadInline(fields map[string]any, path *field.Path) (*Inline, field.ErrorList) {
	r := reader{}
	r.known(fields, path, slices.Concat(telling16, telling17, untelling)...)
	of16, of17 := set(fields, telling16), set(fields, telling17)
	i := &Inline{}
	switch {
	case len(of16) > 0 && len(of17) > 0:
		for _, name := range of17 {
			r.errs = append(r.errs, field.Forbidden(path.Child(name),
				"may not be set beside "+strings.Join(of16, ", ")+": Gateway API 1.7 has the one, the releases up to 1.6 the other"))
		}
	case len(of17) > 0:
		i.Shows, i.Telling, i.Settings = Gen17, of17, From17(r.shape17(fields, path))
	default:
		i.Telling, i.Settings = of16, From16(r.shape16(fields, path))
		if len(of16) > 0 {
			i.Shows = Gen16
		}
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return i, nil
}

// set lists those of the names that are set; null is the same as absent.
func set(fields map[string]any, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return fields[name] == nil })
}

// reader reads a document's values and collects what is wrong with them.
type reader struct{ errs field.ErrorList }

func (r *reader) shape16(fields map[string]any, path *field.Path) *SessionPersistence16 {
	sp := &SessionPersistence16{}
	sp.SessionName = textOf[string](r, fields, path, "sessionName")
	sp.AbsoluteTimeout = textOf[gatewayv1.Duration](r, fields, path, "absoluteTimeout")
	sp.IdleTimeout = textOf[gatewayv1.Duration](r, fields, path, "idleTimeout")
	sp.Type = r.kind(fields, path)
	if config, at := r.mapping(fields, path, "cookieConfig", "lifetimeType"); config != nil {
		sp.CookieConfig = &gatewayv1.CookieConfig{LifetimeType: r.lifetime(config, at)}
		r.forbidUnderHeader(sp.Type, at)
	}
	return sp
}

func (r *reader) shape17(fields map[string]any, path *field.Path) *SessionPersistence17 {
	sp := &SessionPersistence17{
		AbsoluteTimeout: textOf[gatewayv1.Duration](r, fields, path, "absoluteTimeout"),
		Type:            r.kind(fields, path),
	}
	header, headerAt := r.mapping(fields, path, "header", "name")
	if cookie, at := r.mapping(fields, path, "cookie", "name", "path", "lifetimeType"); cookie != nil {
		sp.Cookie = &Cookie17{
			Name: textOf[string](r, cookie, at, "name"), Path: textOf[string](r, cookie, at, "path"), LifetimeType: r.lifetime(cookie, at),
		}
		r.forbidUnderHeader(sp.Type, at)
		if header != nil {
			r.errs = append(r.errs, field.Forbidden(headerAt, "may not be set beside cookie"))
		}
	}
	if header != nil {
		sp.Header = &Header17{}
		if name := textOf[string](r, header, headerAt, "name"); name != nil {
			sp.Header.Name = *name
		} else if header["name"] == nil {
			r.errs = append(r.errs, field.Required(headerAt.Child("name"), ""))
		}
	}
	return sp
}

func (r *reader) forbidUnderHeader(kind *gatewayv1.SessionPersistenceType, path *field.Path) {
	if kind != nil && *kind == gatewayv1.HeaderBasedSessionPersistence {
		r.errs = append(r.errs, field.Forbidden(path, "may only be set with type Cookie"))
	}
}

func (r *reader) kind(fields map[string]any, path *field.Path) *gatewayv1.SessionPersistenceType {
	return choice(r, fields, path, "type", gatewayv1.CookieBasedSessionPersistence, gatewayv1.HeaderBasedSessionPersistence)
}

func (r *reader) lifetime(fields map[string]any, path *field.Path) *gatewayv1.CookieLifetimeType {
	return choice(r, fields, path, "lifetimeType", gatewayv1.PermanentCookieLifetimeType, gatewayv1.SessionCookieLifetimeType)
}

// mapping gives a field that holds fields, nil if it is absent.
func (r *reader) mapping(fields map[string]any, path *field.Path, name string, known ...string) (map[string]any, *field.Path) {
	at := path.Child(name)
	value, is := fields[name].(map[string]any)
	if !is {
		if fields[name] != nil {
			r.errs = append(r.errs, field.TypeInvalid(at, fields[name], "must be an object"))
		}
		return nil, at
	}
	r.known(value, at, known...)
	return value, at
}

// known refuses every other field.
func (r *reader) known(fields map[string]any, path *field.Path, names ...string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			r.errs = append(r.errs, field.Forbidden(path.Child(name), "unknown field"))
		}
	}
}

// textOf gives a text, nil if it is absent.
func textOf[T ~string](r *reader, fields map[string]any, path *field.Path, name string) *T {
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

// choice gives one of several texts, nil if it is absent.
func choice[T ~string](r *reader, fields map[string]any, path *field.Path, name string, of ...T) *T {
	t := textOf[T](r, fields, path, name)
	if t != nil && !slices.Contains(of, *t) {
		r.errs = append(r.errs, field.NotSupported(path.Child(name), *t, of))
		return nil
	}
	return t
}
