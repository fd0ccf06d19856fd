package policyconfig

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// textRule says which strings a field takes: 1 (0 when it may be empty) to max characters that pass check.
type textRule struct {
	max   int
	empty bool
	check func(s string) error
}

// fault is what is wrong with a string, or nil.
func (r *textRule) fault(s string) error {
	switch {
	case s == "" && r.empty:
		return nil
	case s == "":
		return errEmpty
	case len(s) > r.max && utf8.RuneCountInString(s) > r.max:
		return errors.New("must have at most " + strconv.Itoa(r.max) + " characters")
	}
	return r.check(s)
}

var (
	nameRule           = textRule{max: MaxName, check: checkVisible}
	scopeRule          = textRule{max: MaxScope, check: checkVisible}
	envoyRule          = textRule{max: MaxEnvoyName, check: checkEnvoyName}
	sessionRule        = textRule{max: MaxSessionName, check: checkToken}
	headerRule         = textRule{max: MaxSessionName, check: checkHeader}
	pinRule            = textRule{max: MaxSessionName, check: checkPinHeader}
	pathRule           = textRule{max: MaxCookiePath, empty: true, check: checkCookiePath}
	domainRule         = textRule{max: maxDomain, check: checkDomain}
	attributeRule      = textRule{max: maxAttribute, check: checkAttribute}
	envRule            = textRule{max: maxEnv, check: checkEnv}
	keyIDRule          = textRule{max: maxKeyID, check: checkKeyID}
	revokedSessionRule = textRule{max: maxRevoked, check: checkRevokedSession}
	revokedHostRule    = textRule{max: maxRevoked, check: checkRevokedHost}
	revokedBackendRule = textRule{max: maxRevoked, check: checkRevokedBackend}
	ownerRule          = textRule{max: maxRevoked, check: checkOwner}
	leadRule           = textRule{max: maxLead, check: checkLead}

	sealedRule  = textRule{max: maxSealed, check: checkSealed}
	gatewayRule = textRule{max: MaxScope, check: checkVisible}
)

var (
	errEmpty     = errors.New("must not be empty")
	errVisible   = errors.New("must be visible ASCII characters, without spaces")
	errControl   = errors.New("must not hold control characters")
	errToken     = errors.New("must be an RFC 9110 token: letters, digits and !#$%&'*+-.^_`|~")
	errLowerCase = errors.New("must be in lower case")
	errEnv       = errors.New("must be the name of an environment variable: A-Z, 0-9 and _, not starting with a digit")
	errKeyID     = errors.New("must be letters, digits and . _ -")
	errSealed    = errors.New(
		"must be a sealed ring: " + sealedPrefix + " and URL-safe base64 without padding of at least " +
			strconv.Itoa(minSealed) + " bytes",
	)
)

func digit(c byte) bool { return c >= '0' && c <= '9' }

func alphanumeric(c byte) bool {
	return digit(c) || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// visible characters are VCHAR of RFC 5234: printable ASCII without the space.
func visible(c byte) bool { return c > ' ' && c < 0x7F }

// tokenCharacter is tchar of RFC 9110, section 5.6.2.
func tokenCharacter(c byte) bool {
	return alphanumeric(c) || c != 0 && strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func upperOrUnderscore(c byte) bool { return c >= 'A' && c <= 'Z' || c == '_' }

func keyIDCharacter(c byte) bool {
	return alphanumeric(c) || c == '.' || c == '_' || c == '-'
}

// all reports whether every byte of s is of a kind.
func all(s string, kind func(c byte) bool) bool {
	for i := range len(s) {
		if !kind(s[i]) {
			return false
		}
	}
	return true
}

func checkVisible(s string) error {
	if !all(s, visible) {
		return errVisible
	}
	return nil
}

// checkEnvoyName takes what Envoy takes, but for the control characters of C0 and C1, which break logs.
func checkEnvoyName(s string) error {
	for _, r := range s {
		if r < ' ' || r >= 0x7F && r <= 0x9F {
			return errControl
		}
	}
	return nil
}

func checkToken(s string) error {
	if !all(s, tokenCharacter) {
		return errToken
	}
	return nil
}

// checkEnv takes the names that POSIX gives to portable variables (XBD, section 8.1). Lower case is refused, so that a
// secret that was put here by mistake is hardly ever taken for a name and printed.
func checkEnv(s string) error {
	if !upperOrUnderscore(s[0]) || !all(s, func(c byte) bool { return digit(c) || upperOrUnderscore(c) }) {
		return errEnv
	}
	return nil
}

func checkKeyID(s string) error {
	if !all(s, keyIDCharacter) {
		return errKeyID
	}
	return nil
}

func checkSealed(s string) error {
	text, versioned := strings.CutPrefix(s, sealedPrefix)
	if raw, err := decodeBase64(text); !versioned || err != nil || len(raw) < minSealed {
		return errSealed
	}
	return nil
}
