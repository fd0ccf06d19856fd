package precedence

import (
	"fmt"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// contradiction is a pair of fields that can't hold certain values together (S12). The plugin's configuration
// refuses the same; a test holds this list to it.
type contradiction struct {
	a, b int // in the table
	// explain is what is wrong, empty if the values get along.
	explain func(a, b any) string
	// headerOnly says that it is one of type Header only. The others have a field of the cookie's.
	headerOnly bool
}

var contradictions = []contradiction{
	newContradiction("cookie.sameSite", "cookie.secure", func(s policyconfig.SameSite, secure bool) string {
		return reasonIf(s == policyconfig.SameSiteNone && !secure, "SameSite=None needs Secure")
	}),
	newContradiction("cookie.partitioned", "cookie.secure", func(partitioned, secure bool) string {
		return reasonIf(partitioned && !secure, "Partitioned needs Secure")
	}),
	newContradiction("cookie.crossSite", "cookie.secure", func(crossSite, secure bool) string {
		return reasonIf(crossSite && !secure, "a cookie for frames of other sites needs Secure")
	}),
	newContradiction(fieldName, "cookie.secure", func(name string, secure bool) string {
		return reasonIf(
			!secure && policyconfig.CookieRulesFor(name).Secure,
			"a name that begins with __Secure-, __Host- or __Http- needs Secure",
		)
	}),
	newContradiction(fieldName, "cookie.httpOnly", func(name string, httpOnly bool) string {
		return reasonIf(
			!httpOnly && policyconfig.CookieRulesFor(name).HTTPOnly,
			"a name that begins with __Http- or __Host-Http- needs HttpOnly",
		)
	}),
	newContradiction(fieldName, fieldPath, func(name, path string) string {
		return reasonIf(
			path != "/" && policyconfig.CookieRulesFor(name).HostOnly,
			"a name that begins with __Host- needs the path /",
		)
	}),
	newContradiction(fieldName, "cookie.domain", func(name, domain string) string {
		return reasonIf(
			domain != "" && policyconfig.CookieRulesFor(name).HostOnly,
			"a name that begins with __Host- allows no Domain",
		)
	}),
	limitToHeaders(newContradiction(fieldName, fieldEndHeader, func(name, end string) string {
		return reasonIf(strings.EqualFold(name, end), "the session's own header can't end it")
	})),
}

func newContradiction[A, B any](a, b string, why func(A, B) string) contradiction {
	return contradiction{a: fieldIndex[a], b: fieldIndex[b], explain: func(a, b any) string { return why(a.(A), b.(B)) }}
}

func limitToHeaders(c contradiction) contradiction {
	c.headerOnly = true
	return c
}

func reasonIf(wrong bool, why string) string {
	if wrong {
		return why
	}
	return ""
}

// findContradiction finds what among the stronger values that hold speaks against one that would; nil for nothing.
func findContradiction(kind policyconfig.Type, f int, w FieldValue, effective []*FieldValue) *IgnoredField {
	if w.Unset {
		return nil // no default contradicts anything
	}
	if end := effective[fieldIndex[fieldAbsolute]]; w.Value == policyconfig.LifetimePermanent && end != nil && end.Unset {
		return &IgnoredField{
			Field: fieldTable[f].name, FieldValue: w, Rule: "S12", By: *end, ByField: fieldAbsolute,
			Reason: fmt.Sprintf(
				"left out: a Permanent cookie needs an absolute timeout, and the stronger %s (%s) takes that away",
				end.Origin,
				end.Path,
			),
		}
	}
	for _, c := range contradictions {
		other := c.a + c.b - f
		if f != c.a && f != c.b || effective[other] == nil || effective[other].Unset ||
			c.headerOnly && kind != policyconfig.TypeHeader {
			continue
		}
		pair := [2]any{w.Value, effective[other].Value}
		if f == c.b {
			pair[0], pair[1] = pair[1], pair[0]
		}
		if why := c.explain(pair[0], pair[1]); why != "" {
			return newContradicted(fieldTable[f].name, w, fieldTable[other].name, *effective[other], why)
		}
	}
	return nil
}

func newContradicted(name string, w FieldValue, byName string, by FieldValue, why string) *IgnoredField {
	return &IgnoredField{
		Field: name, FieldValue: w, Rule: "S12", By: by, ByField: byName,
		Reason: fmt.Sprintf("left out: %s, and the stronger %s (%s) writes %s %s", why, by.Origin, by.Path, byName, by.Text),
	}
}
