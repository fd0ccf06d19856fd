package policyconfig

import (
	"errors"
	"strconv"
	"strings"
)

// cookiePrefixes are the name prefixes that bind a cookie's attributes. Browsers compare them without regard to
// case and drop a cookie that breaks its prefix's rule (RFC 6265bis, section 5.7; the two with Http-:
// draft-ietf-httpbis-layered-cookies). A name may begin with two of them.
var cookiePrefixes = []struct {
	prefix             string
	hostOnly, httpOnly bool // all of them need Secure
}{
	{prefix: "__Secure-"},
	{prefix: "__Host-", hostOnly: true},
	{prefix: "__Http-", httpOnly: true},
	{prefix: "__Host-Http-", hostOnly: true, httpOnly: true},
}

// CookieRules is what browsers ask of a cookie for the prefix of its name.
type CookieRules struct {
	// Secure and HTTPOnly say that the cookie needs the attribute of that name. HostOnly says that it needs the path "/"
	// and may have no Domain.
	Secure, HTTPOnly, HostOnly bool
}

// CookieRulesFor gives the rules for a cookie's name.
func CookieRulesFor(name string) (r CookieRules) {
	for _, rule := range cookiePrefixes {
		if hasPrefixFold(name, rule.prefix) {
			r.Secure, r.HTTPOnly, r.HostOnly = true, r.HTTPOnly || rule.httpOnly, r.HostOnly || rule.hostOnly
		}
	}
	return r
}

// ownAttributes have fields of their own, so they are refused among the further attributes, in any case.
var ownAttributes = []string{
	"Path", "Domain", "Secure", "HttpOnly", "SameSite", "Partitioned", "Max-Age", "Expires",
}

var (
	errCookiePath    = errors.New(`must begin with "/" and be visible ASCII characters without ";"`)
	errDomain        = errors.New("must be a host name: labels of letters, digits and inner hyphens, with dots between")
	errAttributeName = errors.New("must be Name or Name=Value, with an RFC 9110 token as the name")
	errAttributeText = errors.New(
		`must have a value of printable ASCII characters without ";", not beginning or ending with a space`,
	)
)

// CheckCookiePath says what is wrong with a cookie's path, or nil. Empty stands for no Path attribute.
func CheckCookiePath(path string) error { return pathRule.fault(path) }

// checkCookiePath is stricter than path-value of RFC 6265bis, section 4.1.1: no space, which no URL has either.
func checkCookiePath(s string) error {
	if s[0] != '/' || !all(s, visible) || strings.IndexByte(s, ';') >= 0 {
		return errCookiePath
	}
	return nil
}

// checkDomain is domain-value of RFC 6265bis, section 4.1.1, without the leading dot that browsers ignore.
func checkDomain(s string) error {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return errDomain
		}
		if !all(label, func(c byte) bool { return alphanumeric(c) || c == '-' }) {
			return errDomain
		}
	}
	return nil
}

// checkAttribute is extension-av of RFC 6265bis, section 4.1.1, with a token for a name.
func checkAttribute(s string) error {
	name, value, _ := strings.Cut(s, "=")
	if name == "" || !all(name, tokenCharacter) {
		return errAttributeName
	}
	for _, own := range ownAttributes {
		if strings.EqualFold(name, own) {
			return errors.New("must not be " + strconv.Quote(own) + ", which has a field or a rule of its own")
		}
	}
	if strings.Trim(value, " ") != value ||
		!all(value, func(c byte) bool { return (visible(c) || c == ' ') && c != ';' }) {
		return errAttributeText
	}
	return nil
}

// attributeName is the name of a further attribute in lower case, for comparing.
func attributeName(s string) string {
	name, _, _ := strings.Cut(s, "=")
	return strings.ToLower(name)
}

// hasPrefixFold reports whether s begins with a prefix, in any case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
