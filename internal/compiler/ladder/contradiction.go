package ladder

import (
	"fmt"
	"strings"

	"github.com/limpet-proxy/limpet/policy-config"
)

// contradiction is a pair of fields that can't hold certain values together (S12). The plugin's configuration
// refuses the same; a test holds this list to it.
type contradiction struct {
	a, b int // in the table
	// why is what is wrong, empty if the values get along.
	why func(a, b any) string
	// header says that it is one of type Header only. The others have a field of the cookie's.
	header bool
}

var contradictions = []contradiction{
	between("cookie.sameSite", "cookie.secure", func(s policyconfig.SameSite, secure bool) string {
		return when(s == policyconfig.SameSiteNone && !secure, "SameSite=None needs Secure")
	}),
	between("cookie.partitioned", "cookie.secure", func(partitioned, secure bool) string {
		return when(partitioned && !secure, "Partitioned needs Secure")
	}),
	between(fieldName, "cookie.secure", func(name string, secure bool) string {
		return when(!secure && begins(name, "__Secure-", "__Host-", "__Http-"), "a name that begins with __Secure-, __Host- or __Http- needs Secure")
	}),
	between(fieldName, "cookie.httpOnly", func(name string, httpOnly bool) string {
		return when(!httpOnly && begins(name, "__Http-", "__Host-Http-"), "a name that begins with __Http- or __Host-Http- needs HttpOnly")
	}),
	between(fieldName, fieldPath, func(name, path string) string {
		return when(path != "/" && begins(name, "__Host-"), "a name that begins with __Host- needs the path /")
	}),
	between(fieldName, "cookie.domain", func(name, domain string) string {
		return when(domain != "" && begins(name, "__Host-"), "a name that begins with __Host- allows no Domain")
	}),
	onHeader(between(fieldName, fieldEndHeader, func(name, end string) string {
		return when(strings.EqualFold(name, end), "the session's own header can't end it")
	})),
}

func between[A, B any](a, b string, why func(A, B) string) contradiction {
	return contradiction{a: indexOf[a], b: indexOf[b], why: func(a, b any) string { return why(a.(A), b.(B)) }}
}

func onHeader(c contradiction) contradiction {
	c.header = true
	return c
}

func when(wrong bool, why string) string {
	if wrong {
		return why
	}
	return ""
}

// begins compares as browsers do, without regard to case.
func begins(name string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) {
			return true
		}
	}
	return false
}

// contradicts finds what among the stronger values that hold speaks against one that would; nil for nothing.
func contradicts(kind policyconfig.Type, f int, w Written, holding []*Written) *Drop {
	for _, c := range contradictions {
		other := c.a + c.b - f
		if f != c.a && f != c.b || holding[other] == nil || c.header && kind != policyconfig.TypeHeader {
			continue
		}
		pair := [2]any{w.Value, holding[other].Value}
		if f == c.b {
			pair[0], pair[1] = pair[1], pair[0]
		}
		if why := c.why(pair[0], pair[1]); why != "" {
			return against(table[f].name, w, table[other].name, *holding[other], why)
		}
	}
	return nil
}

func against(name string, w Written, byName string, by Written, why string) *Drop {
	return &Drop{
		Field: name, Written: w, Rule: "S12", By: by, ByField: byName,
		Reason: fmt.Sprintf("left out: %s, and the stronger %s (%s) writes %s %s", why, by.Source, by.Path, byName, by.Text),
	}
}
