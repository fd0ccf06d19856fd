package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// fields are the plain fields of a SessionPersistencePolicy's spec.
type fields = map[string]any

// verdicts are values that the CRD and the plugin configuration must judge alike, and where they stand.
var verdicts = []struct {
	name   string
	values []any
	spec   func(value any) fields
}{
	{
		"cookie's name", listTexts("", "a=b", "a,b", "ä", `"a"`, "a\n", "a\x00", "__Host-cart", strings.Repeat("n", 256), strings.Repeat("n", 257)),
		func(v any) fields { return fields{"sessionName": v} },
	},
	{"type", listTexts("Cookie", "Header", "cookie", ""), func(v any) fields { return fields{"type": v} }},
	{
		"path", listTexts("", "/", "/a", "a", "/a b", "/;", "/a;b", "//", "/ä", "/%20", "/~", "/\x7f", "/\t", "/a\n", `/"`, "/,", " /",
			"/"+strings.Repeat("p", 1023), "/"+strings.Repeat("p", 1024)),
		func(v any) fields { return fields{"cookie": fields{"path": v}} },
	},
	{
		"domain", listTexts("", "a", "a.b", "A.example", ".a", "a.", "a..b", "-a", "a-", "a--b", "1.2.3.4", "a_b", "a b", "a;b", "ä.example",
			strings.Repeat("a", 63)+".b", strings.Repeat("a", 64)+".b", strings.Repeat("a.", 126)+"a", strings.Repeat("a.", 126)+"ab"),
		func(v any) fields { return fields{"cookie": fields{"domain": v}} },
	},
	{
		"attribute", listTexts("", "A", "A=", "A=b", "A=b c", "A= b", "A=b ", "A=b;c", "=b", "A b", "A=ä", "A=b=c", `A="b,c"`, "A\t", "path", "Path=/",
			"SECURE", "HttpOnly=", "SameSite=Lax", "Expires=0", "max-age=1", "Domainx", "A="+strings.Repeat("b", 1022), "A="+strings.Repeat("b", 1023)),
		func(v any) fields { return fields{"cookie": fields{"attributes": []any{v}}} },
	},
	{
		"attributes",
		[]any{[]any{}, []any{"A", "B"}, []any{"A", "A"}, []any{"A=1", "a=2"}, []any{"A", "a=2"}, listAttributes(16), listAttributes(17)},
		func(v any) fields { return fields{"cookie": fields{"attributes": v}} },
	},
	{"same site", listTexts("Strict", "Lax", "None", "none", ""), func(v any) fields { return fields{"cookie": fields{"sameSite": v}} }},
	{"same site and secure", listTexts("Strict", "Lax", "None"), func(v any) fields { return fields{"cookie": fields{"sameSite": v, "secure": false}} }},
	{"partitioned", []any{true, false, "true"}, func(v any) fields { return fields{"cookie": fields{"partitioned": v, "secure": false}} }},
	{"lifetime", listTexts("Session", "Permanent", "permanent"), func(v any) fields { return fields{"cookie": fields{"lifetimeType": v}} }},
	{"lifetime with an end", listTexts("Session", "Permanent"), func(v any) fields {
		return fields{"cookie": fields{"lifetimeType": v}, "absoluteTimeout": "1h"}
	}},
	{
		"duration", listTexts("", "0", "1s", "1", "s", "1S", "+1s", "-1s", "1.5h", "1d", "1h 1m", "1h30m", "30m1h", "1h1h1h1h", "1h1h1h1h1h",
			"99999h", "87600h", "87600h1ms", "87600h1s", "87599h60m", "100000h", "00001s", "999ms", "1000ms", "500ms500ms", "1s1ms", "1us", "1h\n"),
		func(v any) fields { return fields{"idleTimeout": v} },
	},
	{"idle with absolute", listTexts("59m", "1h", "3600s", "3601s"), func(v any) fields { return fields{"idleTimeout": v, "absoluteTimeout": "60m"} }},
	{"seconds", []any{int64(1), int64(-1), int64(315360000), int64(315360001)}, func(v any) fields { return fields{"absoluteTimeoutSeconds": v} }},
	{
		"time", listTexts("", "2026-11-21T08:00:00Z", "2026-11-21t08:00:00z", "2026-11-21 08:00:00Z", "2026-11-21T08:00:00", "2026-11-21T08:00:00.0Z",
			"2026-11-21T08:00:00+01:00", "2026-11-21T08:00:00-23:59", "2026-11-21T08:00:00+24:00", "2026-11-21T08:00:00+00:60", "2026-13-01T00:00:00Z",
			"2026-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T23:59:60Z",
			"1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "1970-01-01T00:00:01+00:01", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59-00:01",
			"0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-00:01", "2026-11-21", "now"),
		func(v any) fields { return fields{"revocation": fields{"notBefore": v}} },
	},
	{"epoch", []any{int64(0), int64(-1), int64(4294967295), int64(4294967296), 1.5, "1"}, func(v any) fields { return fields{"revocation": fields{"epoch": v}} }},
	{"renewal", []any{int64(0), int64(1), int64(99), int64(100)}, func(v any) fields { return fields{"renewAfterPercent": v} }},
	{"status", []any{int64(399), int64(400), int64(599), int64(600)}, func(v any) fields { return fields{"onHostLost": "Fail", "failStatus": v} }},
	{"host lost", listTexts("Rebalance", "RebalanceWithin", "Fail", "rebalance"), func(v any) fields { return fields{"onHostLost": v} }},
	{"issue on", listTexts("Any", "TLS", "tls"), func(v any) fields { return fields{"issueOn": v} }},
	{"cache", listTexts("Keep", "Private", "NoStore", "Share", "no-store"), func(v any) fields { return fields{"cache": fields{"control": v}} }},
	{"host prefix and path", listTexts("", "/", "/cart"), func(v any) fields { return fields{"sessionName": "__host-a", "cookie": fields{"path": v}} }},
	{"prefix and secure", listTexts("__Secure-a", "__HOST-a", "__Http-a", "__Host-Http-a", "__Other-a", "a__Host-"), func(v any) fields {
		return fields{"sessionName": v, "cookie": fields{"secure": false}}
	}},
	{"prefix and domain", listTexts("__Secure-a", "__Host-a", "__Http-a", "__Host-Http-a"), func(v any) fields {
		return fields{"sessionName": v, "cookie": fields{"domain": "a.example"}}
	}},
	{"prefix and httpOnly", listTexts("__Secure-a", "__Host-a", "__Http-a", "__Host-Http-a"), func(v any) fields {
		return fields{"sessionName": v, "cookie": fields{"httpOnly": false}}
	}},
	{"cookie's attributes with a header", listTexts("Cookie", "Header"), func(v any) fields { return fields{"type": v, "cookie": fields{"secure": true}} }},
}

// TestSameVerdictAsPluginConfig holds the CRD to the plugin configuration's own checks, value by value: what the one
// takes the other must take, or policies would pass the server and fail in the compiler.
func TestSameVerdictAsPluginConfig(t *testing.T) {
	server := newAdmitter(t, admission.Gateway16)
	for _, c := range verdicts {
		t.Run(c.name, func(t *testing.T) {
			for _, v := range c.values {
				compareVerdicts(t, server, c.spec(v))
			}
		})
	}
}

// TestSameHeadersAsPluginConfig tries the names of many headers, known and made up, wherever a header is named.
func TestSameHeadersAsPluginConfig(t *testing.T) {
	server := newAdmitter(t, admission.Gateway16)
	names := strings.Split(strings.TrimSpace(string(readFile(t, "testdata/names/headers.txt"))), "\n")
	if len(names) < 150 {
		t.Fatalf("only %d names", len(names))
	}
	for _, name := range append(names, strings.Repeat("h", 256), strings.Repeat("h", 257)) {
		compareVerdicts(t, server, fields{"type": "Header", "header": fields{"name": name}})
		compareVerdicts(t, server, fields{"type": "Header", "sessionName": name})
		compareVerdicts(t, server, fields{"endSessionHeader": name})
	}
}

// TestPluginConfigTakesAccepted holds that every block of every accepted policy makes a good plugin configuration.
func TestPluginConfigTakesAccepted(t *testing.T) {
	for _, file := range readCorpus(t, "accepted", 30) {
		obj := decodeObject(t, readFile(t, file))
		if obj["kind"] != "SessionPersistencePolicy" {
			continue
		}
		spec := obj["spec"].(map[string]any)
		for _, name := range []string{"default", "override"} {
			if block, ok := spec[name].(map[string]any); ok {
				checkPluginTakes(t, filepath.Base(file)+" "+name, block)
			}
			delete(spec, name)
		}
		checkPluginTakes(t, filepath.Base(file), spec)
	}
}

func checkPluginTakes(t *testing.T, what string, block fields) {
	t.Helper()
	if block["type"] == "HTTPCookie" { // GEP-1619's first word, which the compiler reads as Cookie
		block["type"] = "Cookie"
	}
	if err := pluginSays(t, block); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func compareVerdicts(t *testing.T, server *admission.Admitter, spec fields) {
	t.Helper()
	plugin := pluginSays(t, spec)
	reported := fmt.Sprint(spec)
	spec["targetRefs"] = []any{fields{"group": "", "kind": "Service", "name": "cart"}}
	errs := server.Admit(fields{
		"apiVersion": "limpet.dev/v1alpha1", "kind": "SessionPersistencePolicy",
		"metadata": fields{"name": "cart", "namespace": "shop"}, "spec": spec,
	})
	if (plugin == nil) != (len(errs) == 0) {
		t.Errorf("%.200s: the plugin configuration says %v, the CRD %v", reported, plugin, errs)
	}
}

// pluginSays makes a plugin configuration of a block, whose fields have the same names there but for a few, and
// gives what is wrong with it.
func pluginSays(t *testing.T, block fields) error {
	t.Helper()
	policy := fields{"name": "p", "routes": []string{"r"}, "sessionName": "x-cart"}
	maps.Copy(policy, block)
	if header, ok := policy["header"].(map[string]any); ok {
		policy["sessionName"] = header["name"]
	}
	for _, timeout := range []string{"absoluteTimeout", "idleTimeout"} {
		if seconds, ok := policy[timeout+"Seconds"].(int64); ok {
			policy[timeout] = formatInParts(seconds)
		}
	}
	for _, ours := range []string{"header", "absoluteTimeoutSeconds", "idleTimeoutSeconds", "drainTimeout", "identity", "disabled", "targetRefs", "targetRef", "unset"} {
		delete(policy, ours)
	}
	text, err := json.Marshal(fields{"version": policyconfig.Version, "policies": []any{policy}})
	if err != nil {
		t.Fatal(err)
	}
	_, errs := policyconfig.Parse(string(text))
	return errs.Err()
}

// formatInParts writes seconds so that no part has more than GEP-2257's five digits.
func formatInParts(seconds int64) string {
	if seconds < 0 {
		return fmt.Sprintf("%ds", seconds)
	}
	return fmt.Sprintf("%dh%ds", seconds/3600, seconds%3600)
}

func listTexts(values ...string) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}

// listAttributes is a list of that many attributes.
func listAttributes(n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = fmt.Sprintf("A%d", i)
	}
	return all
}
