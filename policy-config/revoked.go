package policyconfig

import (
	"errors"
	"net/netip"
	"strings"
)

// RevokedSession is an item of Revocation.Sessions.
type RevokedSession struct {
	ID uint64
	// Until is when the session has ended anyway; zero is never.
	Until Time
}

// RevokedHost is an item of Revocation.Hosts.
type RevokedHost struct {
	// Host is an IP address and a port, in canonical form.
	Host string
	// Before is when the first session came to the host that is not void.
	Before Time
}

// RevokedBackend is an item of Revocation.Backends.
type RevokedBackend struct {
	// Tag is the backend's in tokens.
	Tag uint32
	// Before is when the first session came to the backend that is not void.
	Before Time
}

var (
	errRevokedSession = errors.New(
		`must be a session id of 16 hexadecimal digits in lower case and when it ends, such as ` +
			`"0102030405060708 until 2026-11-22T20:00:00Z", or the id alone`,
	)
	errRevokedHost = errors.New(`must be an IP address and a port in canonical form and a time, such as ` +
		`"10.0.0.1:8080 before 2026-11-22T20:00:00Z"`)
	errRevokedBackend = errors.New(
		`must be the tag of a backend, of 8 hexadecimal digits in lower case, and a time, such as ` +
			`"0a1b2c3d before 2026-11-22T20:00:00Z"`,
	)
)

// ParseRevokedSession reads an item of Revocation.Sessions.
func ParseRevokedSession(s string) (r RevokedSession, err error) {
	id, until, limited := strings.Cut(s, " until ")
	var is bool
	if r.ID, is = parseHex(id, idDigits); !is {
		return RevokedSession{}, errRevokedSession
	}
	if !limited {
		return r, nil
	}
	if r.Until, err = ParseTime(until); err != nil {
		return RevokedSession{}, errRevokedSession
	}
	return r, nil
}

// isAddress tells whether a text is an IP address and a port in canonical form, without a zone: package netip would
// keep its name for good, in memory that the native filter gives back with the configuration.
func isAddress(host string) bool {
	if strings.IndexByte(host, '%') >= 0 {
		return false
	}
	address, err := netip.ParseAddrPort(host)
	return err == nil && address.String() == host && address.Port() != 0
}

// ParseRevokedHost reads an item of Revocation.Hosts.
func ParseRevokedHost(s string) (RevokedHost, error) {
	host, before, _ := strings.Cut(s, " before ")
	if !isAddress(host) {
		return RevokedHost{}, errRevokedHost
	}
	at, err := ParseTime(before)
	if err != nil {
		return RevokedHost{}, errRevokedHost
	}
	return RevokedHost{host, at}, nil
}

// String is the item's text.
func (b RevokedBackend) String() string {
	return formatHex(uint64(b.Tag), tagDigits) + " before " + b.Before.String()
}

// ParseRevokedBackend reads an item of Revocation.Backends.
func ParseRevokedBackend(s string) (RevokedBackend, error) {
	text, before, _ := strings.Cut(s, " before ")
	tag, is := parseHex(text, tagDigits)
	if !is {
		return RevokedBackend{}, errRevokedBackend
	}
	at, err := ParseTime(before)
	if err != nil {
		return RevokedBackend{}, errRevokedBackend
	}
	return RevokedBackend{uint32(tag), at}, nil
}

func checkRevokedSession(s string) error {
	_, err := ParseRevokedSession(s)
	return err
}

func checkRevokedHost(s string) error {
	_, err := ParseRevokedHost(s)
	return err
}

func checkRevokedBackend(s string) error {
	_, err := ParseRevokedBackend(s)
	return err
}
