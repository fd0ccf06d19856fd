//go:build !tinygo

package policyconfig

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// WriteRoute writes the policies of a route as ParseRoute reads them, in few bytes: no field has its default. The name
// is the route's with the identity of that text at its end.
//
// Of policies that hold for other routes too, it is what they are for this one; those that do not hold for it are left
// out.
func WriteRoute(route string, policies []Policy, pinHeader string) (name, text string, err error) {
	if _, _, found := CutIdentity(route); found {
		return "", "", errors.New("the name of route " + quote(route) + " ends with an identity already")
	}
	data := []byte("[")
	want := make([]Policy, 0, len(policies))
	for _, p := range policies {
		if !slices.Contains(p.Routes, route) {
			continue
		}
		p.Routes = []string{route}
		p.complete()
		one, err := encodeForRoute(&p, route)
		if err != nil {
			return "", "", err
		}
		if len(want) > 0 {
			data = append(data, ',')
		}
		data = append(data, one...)
		want = append(want, p)
	}
	text = string(append(data, ']'))
	back, errs := ParseRoute(text, route, pinHeader)
	if len(errs) > 0 {
		return "", "", errs
	}
	if !reflect.DeepEqual(back, want) {
		return "", "", errNotTheSame
	}
	return identify(route, text), text, nil
}

// identify puts the identity of a text behind a route's name.
func identify(route, text string) string {
	sum := sha256.Sum256([]byte(route + "\n" + text)) // with the route, for the filter spreads routes by it
	return route + identityMark + hex.EncodeToString(sum[:identityHex/2])
}

// RouteScopes gives the scopes of a route's policies in the order in which WriteRoute has them first.
func RouteScopes(route string, policies []Policy) (scopes []string) {
	for i := range policies {
		scope := cmp.Or(policies[i].Scope, policies[i].Name)
		if slices.Contains(policies[i].Routes, route) && !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// KeyRoute puts the sealed keys of its scopes in front of what WriteRoute gave for a route.
func KeyRoute(name, text string, keys []string) (keyedName, keyedText string) {
	route, _, _ := CutIdentity(name)
	text = strings.Join(keys, keyMark) + text
	return identify(route, text), text
}

// encodeLine writes JSON in one line.
func encodeLine(v any) ([]byte, error) {
	data, err := encodeIndented(v, "")
	return bytes.TrimSuffix(data, []byte("\n")), err
}

// encodeForRoute writes a policy of a route without the fields that have their defaults.
func encodeForRoute(p *Policy, route string) ([]byte, error) {
	d, c := DefaultPolicy(), DefaultCookie()
	d.Name, d.Scope, d.Routes = shortName(route), p.Name, p.Routes
	if p.Cookie != nil {
		d.Cookie = &c
	}
	return appendChanges(nil, reflect.ValueOf(p).Elem(), reflect.ValueOf(&d).Elem(), policyNames)
}

// The names of the fields in JSON.
var policyNames, cookieNames = listNames[Policy](), listNames[Cookie]()

func listNames[T any]() (names []string) {
	for f := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, strconv.Quote(name)+":")
	}
	return names
}

// appendChanges writes those fields of a struct, in their order, that differ from a default; of a cookie, what differs
// in that.
func appendChanges(text []byte, value, byDefault reflect.Value, names []string) ([]byte, error) {
	text = append(text, '{')
	begin := len(text)
	for i, name := range names {
		is, was := value.Field(i), byDefault.Field(i)
		if isSame(is, was) {
			continue
		}
		if len(text) > begin {
			text = append(text, ',')
		}
		text = append(text, name...)
		if is.Type() == reflect.TypeFor[*Cookie]() {
			var err error
			if text, err = appendChanges(text, is.Elem(), was.Elem(), cookieNames); err != nil {
				return nil, err
			}
			continue
		}
		data, err := encodeLine(is.Interface())
		if err != nil {
			return nil, err
		}
		text = append(text, data...)
	}
	return append(text, '}'), nil
}

func isSame(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Slice:
		return a.Len() == 0 && b.Len() == 0 || reflect.DeepEqual(a.Interface(), b.Interface())
	case reflect.Pointer, reflect.Struct:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	default:
		return a.Equal(b)
	}
}
