package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/suggest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The parts of patterns in limpet's CRDs.
const (
	//nolint:gosec // a pattern
	tokenPattern = `[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+`
	timePattern  = `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	labelPattern = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	namePattern  = labelPattern + `(\.` + labelPattern + `)*`
	keyPattern   = `(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])`
)

// patternWords say what the patterns of CRDs want. A server names the pattern alone.
var patternWords = map[string]string{
	policyconfig.DurationPattern: "must be a GEP-2257 duration, such as 1h30m: one to four parts, each of one to five " +
		"digits and h, m, s or ms; a day is 24h",
	"^" + timePattern + "$": "must be an RFC 3339 time of whole seconds, such as 2026-11-21T08:00:00Z",
	"^[0-9a-f]{16}( until " + timePattern + ")?$": "must be a session's id of 16 digits 0-9 and a-f, as 'limpet " +
		"revoke' writes it: 0102030405060708 until 2026-11-22T20:00:00Z, or the id alone",
	`^([0-9.]+|\[[0-9a-f:.]+\]):[1-9][0-9]{0,4} before ` + timePattern + "$": "must be an address, a port and an RFC " +
		"3339 time, such as 10.0.0.1:8080 before 2026-11-22T20:00:00Z",
	`^(xbackend/)?[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?:[1-9][0-9]{0,4}` +
		`(/[a-z0-9]([a-z0-9-]*[a-z0-9])?)? before ` + timePattern + "$": "must be a Service's namespace, name and port " +
		"and an RFC 3339 time, such as shop/cart-v2:80 before 2026-11-22T20:00:00Z",

	"^" + tokenPattern + "$": "must be a name such as cart-session: letters, digits and !#$%&'*+-.^_`|~",
	"^" + tokenPattern + `(=([!-:<-~]([ -:<-~]*[!-:<-~])?)?)?$`: "must be an attribute such as Priority=High, without a " +
		"semicolon",
	`^(/[!-:<-~]*)?$`: "must begin with a slash and have neither space nor semicolon, such as /cart",
	`^/[!-"$-~]*$`:    "must begin with a slash and have neither space nor #, such as /healthz?ready",
	`^[!-~]+$`:        "must have neither space nor control characters",

	`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`: "must be a domain " +
		"such as shop.example, without a dot before it",
	`^([A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):[1-9][0-9]{0,4}$`: "must be a host and a port, such as " +
		"collector.tracing:4317",

	"^" + labelPattern + "$": "must be a name of lower-case letters, digits and dashes, such as cart-v2",
	"^" + namePattern + "$": "must be a name of lower-case letters, digits, dashes and dots, such as " +
		"shop.example",
	"^$|^" + namePattern + "$": "must be a group such as gateway.networking.k8s.io, or empty",
	`^(\*\.)?` + namePattern + "$": "must be a hostname such as shop.example or *.shop.example, in lower case and " +
		"without a port",
	"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$":       "must be a kind such as Service",
	"^(" + namePattern + "/)?" + keyPattern + "$": "must be a key such as app or example.com/app",
	"^" + namePattern + `\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$`: "must be a domain and a path, such as " +
		"limpet.dev/gateway-controller",
}

// explain puts a server's error on an object of a document into words that say what to write.
func explain(e *field.Error, d *read.Document, object map[string]any) {
	e.Detail = strings.TrimPrefix(e.Detail, e.Field+" in body ") // the schema validator repeats it
	value := read.ValueAt(object, e.Field)
	switch target, _ := value.(map[string]any); {
	case e.Type == field.ErrorTypeTypeInvalid:
		explainType(e, d, value)
	case strings.HasPrefix(e.Detail, "should match '"):
		pattern := strings.TrimSuffix(strings.TrimPrefix(e.Detail, "should match '"), "'")
		if words, known := patternWords[pattern]; known {
			e.Detail = words
		}
	case e.Detail == idleTooLong:
		timeout := read.ValueAt(object, "spec.absoluteTimeout")
		if timeout == nil {
			timeout = fmt.Sprint(read.ValueAt(object, "spec.absoluteTimeoutSeconds"), "s")
		}
		e.BadValue = value
		e.Detail += fmt.Sprintf(", %v", timeout)
	case target != nil && strings.HasPrefix(e.Detail, "must be a Service or Namespace of group"):
		kind, _ := target["kind"].(string)
		if near := suggest.Nearest(kind, attachableKinds()); near != "" && near != kind {
			e.Field, e.BadValue, e.Detail = e.Field+".kind", kind, "did you mean "+near+"?"
		}
	default:
		e.Detail += suggestValue(e)
	}
}

// idleTooLong is what the CRDs of policies say of an idle timeout.
const idleTooLong = "must not be longer than the absolute timeout"

// attachableKinds are those that session policies can have as targets.
func attachableKinds() (kinds []string) {
	for _, k := range registry {
		if k.Attachable {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

// typeNames are the types of JSON as people call them.
var typeNames = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean", "array": "a list",
	"object": "a mapping",
}

// explainType explains a value of another type, such as `must be of type string: "integer"`.
func explainType(e *field.Error, d *read.Document, value any) {
	wanted, got, known := strings.Cut(strings.TrimPrefix(e.Detail, "must be of type "), ": ")
	got = strings.Trim(got, `"`)
	if !known || typeNames[wanted] == "" || typeNames[got] == "" {
		return
	}
	e.Detail = "must be " + typeNames[wanted] + ", not " + typeNames[got]
	switch v := value.(type) {
	case map[string]any, []any, nil:
		e.BadValue = got
		if wanted == "array" {
			e.Detail += ": begin each item with a dash"
		}
	case string:
		if e.BadValue = v; isQuoted(v, wanted) {
			e.Detail += ": write " + v + " without quotes"
		}
	default:
		e.BadValue = v
		switch _, isNumber := v.(int64); {
		case wanted == "string" && isNumber && isTimeout(e.Field):
			e.Detail = fmt.Sprintf("must be a duration with its unit: write %vs for seconds", v)
		case wanted == "string":
			e.Detail += fmt.Sprintf(`: write %q with quotes`, cmp.Or(d.TextAt(e.Field), fmt.Sprint(v)))
		}
	}
}

// isQuoted tells whether a string would have the type that is wanted, were it not for its quotes.
func isQuoted(text, wanted string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return wanted == "integer" && err == nil || wanted == "boolean" && (text == "true" || text == "false")
}

// isTimeout tells whether a path leads to a duration.
func isTimeout(path string) bool {
	return strings.HasSuffix(path, "Timeout") || strings.Contains(path, ".timeouts.")
}

// isInWrongType tells whether an error is about a field of a value that is of another type itself.
func isInWrongType(e *field.Error, errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(other *field.Error) bool {
		return other.Type == field.ErrorTypeTypeInvalid && strings.HasPrefix(e.Field, other.Field+".")
	})
}
