package precedence

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// readCorpus reads the SessionPersistencePolicies of a folder of the API's own corpus, by file name. Documents that the
// types can't hold are left out.
func readCorpus(t *testing.T, folder string, atLeast int) map[string]*v1alpha1.SessionPersistencePolicy {
	t.Helper()
	files, err := filepath.Glob("../../../compiler/api/testdata/" + folder + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*v1alpha1.SessionPersistencePolicy{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p v1alpha1.SessionPersistencePolicy
		if yaml.UnmarshalStrict(text, &p) == nil && p.Kind == "SessionPersistencePolicy" {
			all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = &p
		}
	}
	if len(all) < atLeast {
		t.Fatalf("%d documents in %s", len(all), folder)
	}
	return all
}

// checkAllBlocks checks every block of a policy, and its scope.
func checkAllBlocks(p *v1alpha1.SessionPersistencePolicy) policyconfig.ErrorList {
	errs := checkScope(&p.Spec)
	target := object.TargetRef{Ref: object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "cart"}}
	for _, b := range PolicyBlocks(object.Origin{}, target, &p.Spec) {
		errs = append(errs, CheckBlock(b)...)
	}
	return errs
}

// TestCheckAccepted: what our CRD takes, Check takes.
func TestCheckAccepted(t *testing.T) {
	for name, p := range readCorpus(t, "accepted", 25) {
		if errs := checkAllBlocks(p); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// structural are the documents that our CRD refuses for how fields stand together, or that say nothing by an empty
// value: no value in them could do harm, so that they are no business of Check.
var structural = []string{
	"absolute-timeout-twice", "idle-timeout-twice", "timeouts-twice-in-blocks", "disabled-with-fields", "disabled-with-fields-in-blocks",
	"header-without-type", "header-with-cookie", "two-names", "unknown-field", "domain-empty", "attributes-empty", "unset-nothing", "unset-with-disabled",
}

// TestCheckRefused: what our CRD refuses for a field's value, Check refuses, at the same path.
func TestCheckRefused(t *testing.T) {
	checked := 0
	for name, p := range readCorpus(t, "refused", 40) {
		text, err := os.ReadFile("../../../compiler/api/testdata/refused/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(structural, name) || strings.Contains(string(text), "spec.targetRef") || strings.HasPrefix(string(text), "spec: ") {
			continue
		}
		checked++
		errs := checkAllBlocks(p)
		if len(errs) == 0 {
			t.Errorf("%s is taken; the CRD says\n%s", name, text)
		}
		for _, e := range errs {
			path, _, _ := strings.Cut(e.Path, "[")
			if !strings.Contains(string(text), path) {
				t.Errorf("%s: %v; the CRD says\n%s", name, e, text)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d documents", checked)
	}
}

// TestCheckInline: dangerous values that Gateway API's CRDs let through are refused at their own path (S49).
func TestCheckInline(t *testing.T) {
	long := strings.Repeat("a", 257)
	for _, c := range []struct{ name, inline, path, message string }{
		{"path that injects", `{cookie: {name: a, path: "/;evil=1"}}`, "cookie.path", `must begin with "/"`},
		{"path without a slash", `{cookie: {path: a}}`, "cookie.path", `must begin with "/"`},
		{"name that injects, 1.6", `{sessionName: "a b;c"}`, "sessionName", "must be an RFC 9110 token"},
		{"name that injects, 1.7", `{cookie: {name: "a b;c"}}`, "cookie.name", "must be an RFC 9110 token"},
		{"name that is too long", `{sessionName: ` + long + `}`, "sessionName", "must have at most 256 characters"},
		{"header name that injects", `{type: Header, header: {name: "a b"}}`, "header.name", "must be an RFC 9110 token"},
		{"pseudo-header", `{type: Header, header: {name: ":path"}}`, "header.name", "must be an RFC 9110 token"},
		{"Host", `{type: Header, header: {name: Host}}`, "header.name", "must not be a header"},
		{"Cookie, 1.6", `{type: Header, sessionName: cookie}`, "sessionName", "must not be a header"},
		{"pin header", `{type: Header, sessionName: X-Limpet-Pin}`, "sessionName", "must not be the pin header"},
		{"empty name", `{type: Header, header: {name: ""}}`, "header.name", "must not be empty"},
		{"2A.19 timeout of 0", `{absoluteTimeout: 0s, cookie: {lifetimeType: Permanent}}`, "absoluteTimeout", "must be longer than 0s"},
		{"absurd timeout", `{absoluteTimeout: 99999h}`, "absoluteTimeout", "must be at most 87600h"},
		{"parts of a second", `{absoluteTimeout: 1500ms}`, "absoluteTimeout", "must be whole seconds"},
		{"no duration", `{idleTimeout: 1d}`, "idleTimeout", "must be a GEP-2257 duration"},
		{"idle timeout of 0", `{idleTimeout: 0s}`, "idleTimeout", "must be longer than 0s"},
		{"idle timeout that is longer", `{idleTimeout: 2h, absoluteTimeout: 1h}`, "idleTimeout", "must not be longer than absoluteTimeout"},
		{"2A.19 Permanent without an end, 1.6", `{cookieConfig: {lifetimeType: Permanent}}`, "absoluteTimeout", "Required value"},
		{"2A.19 Permanent without an end, 1.7", `{cookie: {lifetimeType: Permanent}}`, "absoluteTimeout", "Required value"},
		{"prefix that forbids the path", `{cookie: {name: __Host-a, path: /a}}`, "cookie.path", `must be "/"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := field.NewPath("spec", "rules").Index(0).Child("sessionPersistence")
			fields := map[string]any{}
			if err := yaml.Unmarshal([]byte(c.inline), &fields); err != nil {
				t.Fatal(err)
			}
			errs := CheckBlock(FromInline(readInline(t, fields, path), InlineRule, object.Origin{}, object.TargetRef{}, path.String()))
			if len(errs) != 1 || errs[0].Path != path.String()+"."+c.path || !strings.Contains(errs[0].Message, c.message) {
				t.Errorf("got %v", errs)
			}
		})
	}
}

// TestMergeWithoutCheck: values that Check would refuse because they can't be read are left out, and reported.
func TestMergeWithoutCheck(t *testing.T) {
	bad, good, epoch := v1alpha1.Duration("1d"), v1alpha1.Duration("1h"), int64(-1)
	e := Merge([]SettingsBlock{
		{Level: 9, Path: "spec", Settings: &v1alpha1.SessionSettings{AbsoluteTimeout: &bad, Revocation: &v1alpha1.Revocation{Epoch: &epoch}}},
		{Level: 10, Path: "spec", Settings: &v1alpha1.SessionSettings{AbsoluteTimeout: &good}},
	})
	expectField(t, &e, "absoluteTimeout", "1h", 10)
	expectField(t, &e, "revocation.epoch", "0", 28)
	if len(e.Ignored) != 2 || e.Ignored[0].Message() != `spec.absoluteTimeout: left out: Invalid value: "1d": must be a GEP-2257 duration, such as 1h30m: one to four parts, each of one to five digits and h, m, s or ms` {
		t.Errorf("%+v", e.Ignored)
	}
}
