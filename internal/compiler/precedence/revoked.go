package precedence

import (
	"errors"
	"regexp"
	"slices"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// RevokedBackend is an item of revocation.backends.
type RevokedBackend struct {
	// Backend is the name of one, as backend.Identity has it; without a subset it is for all of them.
	Backend string
	// Before is when the first session came to it that is not void.
	Before policyconfig.Time
}

var (
	errRevokedBackend = errors.New(`must be a backend, as NAMESPACE/SERVICE:PORT, and a time, such as ` +
		`"shop/cart-v2:80 before 2026-11-22T20:00:00Z"`)
	errRevokedTwice = errors.New("must not have an item twice")
)

// RevokedBackends are the backends whose older sessions are void (S43).
func (e *Effective) RevokedBackends() (all []RevokedBackend) {
	list, written := readValue[[]string](e, fieldRevoked)
	if !written {
		return nil
	}
	for _, text := range list {
		if r, err := parseRevokedBackend(text); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// RevokesForRoute reports whether those are written for one route, or a rule of it, and not for whatever a policy
// reaches.
func (e *Effective) RevokesForRoute() bool {
	f := e.Field(fieldRevoked)
	if f == nil || f.Level == BuiltIn {
		return false
	}
	at := f.Level.hierarchy()
	return at == OnRoute || at == OnRule
}

// convertRevokedBackends keeps the list, if it can be read.
func convertRevokedBackends(list []v1alpha1.RevokedBackend) ([]string, error) {
	for _, text := range list {
		if _, err := parseRevokedBackend(string(text)); err != nil {
			return nil, err
		}
	}
	if sorted := slices.Sorted(slices.Values(list)); len(slices.Compact(sorted)) < len(list) {
		return nil, errRevokedTwice
	}
	return convertStrings(list)
}

// revokedBackend is what the CRD says of an item.
var revokedBackend = regexp.MustCompile(`^((?:xbackend/)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?/` +
	`[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?:[1-9][0-9]{0,4}(?:/[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)?) before (.*)$`)

func parseRevokedBackend(text string) (r RevokedBackend, err error) {
	parts := revokedBackend.FindStringSubmatch(text)
	if parts == nil {
		return r, errRevokedBackend
	}
	if r.Before, err = policyconfig.ParseTime(parts[2]); err != nil {
		return r, errRevokedBackend
	}
	r.Backend = parts[1]
	return r, nil
}
