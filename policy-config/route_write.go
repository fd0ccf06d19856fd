//go:build !tinygo

package policyconfig

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
)

// WriteRoute writes the policies of a route as ParseRoute reads them, in few bytes: no field has its default. The name is
// the route's with the identity of that text at its end.
//
// Of policies that hold for other routes too, it is what they are for this one; those that do not hold for it are left out.
func WriteRoute(route string, policies []Policy, pinHeader string) (name, text string, err error) {
	if _, _, found := CutIdentity(route); found {
		return "", "", errors.New("the name of route " + quote(route) + " ends with an identity already")
	}
	list := make([]routePolicy, 0, len(policies))
	want := make([]Policy, 0, len(policies))
	for _, p := range policies {
		if !slices.Contains(p.Routes, route) {
			continue
		}
		p.Routes = []string{route}
		p.complete()
		want = append(want, p)
		list = append(list, newRoutePolicy(&p, route))
	}
	data, err := encodeLine(list)
	if err != nil {
		return "", "", err
	}
	back, errs := ParseRoute(string(data), route, pinHeader)
	if len(errs) > 0 {
		return "", "", errs
	}
	if !reflect.DeepEqual(back, want) {
		return "", "", errNotTheSame
	}
	sum := sha256.Sum256(append([]byte(route+"\n"), data...)) // with the route, for the filter spreads routes by it
	return route + identityMark + hex.EncodeToString(sum[:identityHex/2]), string(data), nil
}

// encodeLine writes JSON in one line, without the escapes that json.Marshal makes for HTML.
func encodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// routePolicy is Policy where what has its default is left out.
type routePolicy struct {
	Name              string       `json:"name,omitempty"`
	Scope             string       `json:"scope,omitempty"`
	Clusters          []string     `json:"clusters,omitempty"`
	Type              Type         `json:"type,omitempty"`
	SessionName       string       `json:"sessionName"`
	AbsoluteTimeout   Duration     `json:"absoluteTimeout,omitempty"`
	IdleTimeout       Duration     `json:"idleTimeout,omitempty"`
	RenewAfterPercent int          `json:"renewAfterPercent,omitempty"`
	Cookie            *routeCookie `json:"cookie,omitempty"`
	RevealHost        bool         `json:"revealHost,omitempty"`
	Forward           *bool        `json:"forward,omitempty"`
	OnHostLost        OnHostLost   `json:"onHostLost,omitempty"`
	FailStatus        int          `json:"failStatus,omitempty"`
	EndSessionHeader  string       `json:"endSessionHeader,omitempty"`
	IssueOn           IssueOn      `json:"issueOn,omitempty"`
	Cache             *Cache       `json:"cache,omitempty"`
	Revocation        *Revocation  `json:"revocation,omitempty"`
	TokenVersion      TokenVersion `json:"tokenVersion,omitempty"`
}

type routeCookie struct {
	Path         *string      `json:"path,omitempty"`
	Domain       string       `json:"domain,omitempty"`
	LifetimeType LifetimeType `json:"lifetimeType,omitempty"`
	Secure       *bool        `json:"secure,omitempty"`
	HTTPOnly     *bool        `json:"httpOnly,omitempty"`
	SameSite     SameSite     `json:"sameSite,omitempty"`
	Partitioned  bool         `json:"partitioned,omitempty"`
	Attributes   []string     `json:"attributes,omitempty"`
}

// unless gives a value, or the zero value where it is the default.
func unless[T comparable](value, byDefault T) (v T) {
	if value == byDefault {
		return v
	}
	return value
}

// pointerUnless is unless for values whose zero value means something.
func pointerUnless[T comparable](value, byDefault T) *T {
	if value == byDefault {
		return nil
	}
	return &value
}

func newRoutePolicy(p *Policy, route string) routePolicy {
	d := DefaultPolicy()
	return routePolicy{
		Name:              unless(p.Name, shortName(route)),
		Scope:             unless(p.Scope, p.Name),
		Clusters:          p.Clusters,
		Type:              unless(p.Type, d.Type),
		SessionName:       p.SessionName,
		AbsoluteTimeout:   p.AbsoluteTimeout,
		IdleTimeout:       p.IdleTimeout,
		RenewAfterPercent: unless(p.RenewAfterPercent, d.RenewAfterPercent),
		Cookie:            newRouteCookie(p.Cookie),
		RevealHost:        p.RevealHost,
		Forward:           pointerUnless(p.Forward, d.Forward),
		OnHostLost:        unless(p.OnHostLost, d.OnHostLost),
		FailStatus:        unless(p.FailStatus, d.FailStatus),
		EndSessionHeader:  p.EndSessionHeader,
		IssueOn:           unless(p.IssueOn, d.IssueOn),
		Cache:             pointerUnless(p.Cache, d.Cache),
		Revocation:        newRouteRevocation(&p.Revocation),
		TokenVersion:      unless(p.TokenVersion, d.TokenVersion),
	}
}

func newRouteRevocation(r *Revocation) *Revocation {
	if reflect.ValueOf(*r).IsZero() {
		return nil
	}
	return r
}

func newRouteCookie(c *Cookie) *routeCookie {
	d := DefaultCookie()
	if c == nil || reflect.DeepEqual(*c, d) {
		return nil
	}
	return &routeCookie{
		Path:         pointerUnless(c.Path, d.Path),
		Domain:       c.Domain,
		LifetimeType: unless(c.LifetimeType, d.LifetimeType),
		Secure:       pointerUnless(c.Secure, d.Secure),
		HTTPOnly:     pointerUnless(c.HTTPOnly, d.HTTPOnly),
		SameSite:     unless(c.SameSite, d.SameSite),
		Partitioned:  c.Partitioned,
		Attributes:   c.Attributes,
	}
}
