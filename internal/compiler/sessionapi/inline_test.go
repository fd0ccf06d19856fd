package sessionapi

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

var inlinePath = field.NewPath("spec", "rules").Index(0).Child("sessionPersistence")

func fromYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// TestReadInline compares settings with those of a SessionPersistencePolicy's block that would write the same.
func TestReadInline(t *testing.T) {
	for _, c := range []struct {
		name, inline, want string
		shows              APIRelease
		telling            string
	}{
		{"S8 empty", `{}`, `{}`, Unstated, ""},
		{"S8 as a 1.6 server stores it", `{type: Cookie}`, `{}`, Unstated, ""},
		{"S18 nothing shows", `{type: Header, absoluteTimeout: 1h}`, `{type: Header, absoluteTimeout: 1h}`, Unstated, ""},
		{"S18 null is absent", `{sessionName: null, cookie: null, absoluteTimeout: 1h}`, `{absoluteTimeout: 1h}`, Unstated, ""},
		{"S18 sessionName", `{sessionName: a}`, `{sessionName: a}`, Release16, "sessionName"},
		{"S21 idleTimeout", `{idleTimeout: 5m}`, `{idleTimeout: 5m}`, Release16, "idleTimeout"},
		{"S18 cookieConfig", `{cookieConfig: {}}`, `{type: Cookie, cookie: {}}`, Release16, "cookieConfig"},
		{"S8 1.6 defaults", `{type: Cookie, cookieConfig: {lifetimeType: Session}}`, `{type: Cookie, cookie: {}}`, Release16, "cookieConfig"},
		{
			"1.6 whole", `{type: Cookie, sessionName: a, absoluteTimeout: 1h, idleTimeout: 5m, cookieConfig: {lifetimeType: Permanent}}`,
			`{type: Cookie, sessionName: a, absoluteTimeout: 1h, idleTimeout: 5m, cookie: {lifetimeType: Permanent}}`, Release16, "sessionName cookieConfig idleTimeout",
		},
		{"1.6 header", `{type: Header, sessionName: x-a}`, `{type: Header, sessionName: x-a}`, Release16, "sessionName"},
		{"S18 cookie", `{cookie: {}}`, `{type: Cookie, cookie: {}}`, Release17, "cookie"},
		{"S8 1.7 defaults", `{type: Cookie, cookie: {path: /, lifetimeType: Session}}`, `{type: Cookie, cookie: {}}`, Release17, "cookie"},
		{
			"1.7 whole", `{type: Cookie, absoluteTimeout: 1h, cookie: {name: a, path: /a, lifetimeType: Permanent}}`,
			`{type: Cookie, sessionName: a, absoluteTimeout: 1h, cookie: {path: /a, lifetimeType: Permanent}}`, Release17, "cookie",
		},
		{"1.7 no path", `{cookie: {path: ""}}`, `{type: Cookie, cookie: {path: ""}}`, Release17, "cookie"},
		{"1.7 header", `{type: Header, header: {name: x-a}}`, `{type: Header, header: {name: x-a}}`, Release17, "header"},
		{"S8 header writes the type", `{header: {name: x-a}}`, `{type: Header, header: {name: x-a}}`, Release17, "header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, errs := ReadInline(fromYAML(t, c.inline), inlinePath)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			var want v1alpha1.SessionSettings
			if err := yaml.UnmarshalStrict([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Settings, want) {
				t.Errorf("got %+v, want %s", got.Settings, c.want)
			}
			if got.Release != c.shows || strings.Join(got.ReleaseFields, " ") != c.telling {
				t.Errorf("shows %s by %v", got.Release, got.ReleaseFields)
			}
		})
	}
}

// TestReadInlineRefuses lists documents with their errors.
func TestReadInlineRefuses(t *testing.T) {
	for _, c := range []struct {
		name, inline string
		want         []string
	}{
		{"S19 2A.9 mixed", `{sessionName: a, cookie: {name: b}}`, []string{"cookie: Forbidden: may not be set together with sessionName"}},
		{"S19 mixed all over", `{cookieConfig: {}, idleTimeout: 1m, cookie: {}, header: {name: a}}`, []string{
			"cookie: Forbidden: may not be set together with cookieConfig, idleTimeout", "header: Forbidden: may not be set together with cookieConfig, idleTimeout",
		}},
		{"S21 2A.31 idleTimeout in 1.7's shape", `{idleTimeout: 1m, cookie: {}}`, []string{"cookie: Forbidden: may not be set together with idleTimeout"}},
		{"unknown fields", `{sessionname: a, cookie: {names: b}}`, []string{"sessionname: Forbidden: unknown field", "cookie.names: Forbidden: unknown field"}},
		{"types", `{sessionName: 5, absoluteTimeout: [], cookieConfig: x}`, []string{
			"sessionName: Invalid value: 5: must be a string", "absoluteTimeout: Invalid value: []: must be a string", `cookieConfig: Invalid value: "x": must be an object`,
		}},
		{"choices", `{type: cookie, cookie: {lifetimeType: Forever}}`, []string{
			`type: Unsupported value: "cookie": supported values: "Cookie", "Header"`, `cookie.lifetimeType: Unsupported value: "Forever": supported values: "Permanent", "Session"`,
		}},
		{"cookieConfig under Header", `{type: Header, cookieConfig: {}}`, []string{"cookieConfig: Forbidden: may only be set with type Cookie"}},
		{"cookie under Header", `{type: Header, cookie: {}}`, []string{"cookie: Forbidden: may only be set with type Cookie"}},
		{"cookie and header", `{cookie: {}, header: {name: x-a}}`, []string{"header: Forbidden: may not be set together with cookie"}},
		{"header without a name", `{type: Header, header: {}}`, []string{"header.name: Required value"}},
		{"header with a number", `{type: Header, header: {name: 1}}`, []string{"header.name: Invalid value: 1: must be a string"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, errs := ReadInline(fromYAML(t, c.inline), inlinePath)
			if got != nil || len(errs) != len(c.want) {
				t.Fatalf("got %v, %v", got, errs)
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(errs, func(e *field.Error) bool {
					return strings.HasPrefix(e.Error(), inlinePath.String()+"."+want)
				}) {
					t.Errorf("no %q among %v", want, errs)
				}
			}
		})
	}
}

// TestReadInlineKnowsGatewayAPI holds that the reader knows the fields of Gateway API's own type: what that type writes is
// read as what the text says.
func TestReadInlineKnowsGatewayAPI(t *testing.T) {
	for _, text := range []string{
		`{}`, `{sessionName: a, absoluteTimeout: 1h, type: Cookie, cookieConfig: {lifetimeType: Permanent}}`, `{type: Header, sessionName: x-a}`,
	} {
		var typed gatewayv1.SessionPersistence
		if err := yaml.UnmarshalStrict([]byte(text), &typed); err != nil {
			t.Fatal(err)
		}
		written, err := yaml.Marshal(typed)
		if err != nil {
			t.Fatal(err)
		}
		want, errs := ReadInline(fromYAML(t, text), inlinePath)
		got, more := ReadInline(fromYAML(t, string(written)), inlinePath)
		if len(errs)+len(more) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %+v, %v, %v", text, got, want, errs, more)
		}
	}
}
