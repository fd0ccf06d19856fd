package compiler

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/policy-config"
)

var updateGoldens = flag.Bool("update", false, "rewrite the files that the tests compare with")

// minGoldens is how many cases there are at least: a glob that finds none must not pass.
const minGoldens = 140

// golden is a case under testdata: NAME.in.yaml or NAME.in.json, and what must come of it, in files beside it.
// A first line "# options: ..." sets the options.
type golden struct {
	name   string // without ".in.yaml"
	source Source
}

// outputSuffixes are the endings of the files that a case may have. One that is not expected must not be there.
var outputSuffixes = []string{".envoy.yaml", ".envoy-gateway.yaml", ".istio.yaml", ".plugin.json", ".warnings.txt", ".err.txt"}

func loadGoldens(t testing.TB) []golden {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.in.*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < minGoldens {
		t.Fatalf("testdata has %d cases, want %d at least", len(files), minGoldens)
	}
	cases := make([]golden, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		name, _, _ := strings.Cut(base, ".in.")
		cases[i] = golden{name: name, source: Source{Name: base, Data: data}}
	}
	return cases
}

var optionsLine = regexp.MustCompile(`^# options: (.*)\n`)

// The secrets of the cases that have keys. The sealed ring is the clear one, sealed under testRoot.
const (
	testSecret = "test-secret-test-secret-test-secret"
	testRoot   = "dGVzdC1yb290LXRlc3Qtcm9vdC10ZXN0LXJvb3QtdGVzdC1yb290"
)

func (g golden) parseOptions(t *testing.T) Options {
	t.Helper()
	o := Options{
		WasmPath: "dist/limpet.wasm",
		WasmURL:  "https://example.com/limpet.wasm", WasmSHA256: strings.Repeat("0123456789abcdef", 4),
	}
	line := optionsLine.FindSubmatch(g.source.Data)
	if line == nil {
		return o
	}
	for _, word := range strings.Fields(string(line[1])) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "target":
			o.Target = Target(value)
		case "bind":
			o.Bind = value
		case "admin":
			o.Admin = value
		case "wasm":
			o.WasmPath = value
		case "wasm-url":
			o.WasmURL = value
		case "gateway-api":
			o.GatewayAPI = value
		case "class-policy-namespace":
			o.ClassPolicyNamespace = value
		case "partial-split":
			o.PartialSplit = value
		case "assume-admitted":
			o.AssumeAdmitted = true
		case "strict":
			o.Strict = true
		case "istio-phase":
			o.Istio.Phase = value
		case "istio-priority":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			priority := int32(n)
			o.Istio.Priority = &priority
		case "istio-fail-strategy":
			o.Istio.FailStrategy = value
		case "istio-root-namespace":
			o.Istio.RootNamespace = value
		case "istio-traffic-extension":
			o.Istio.TrafficExtension = true
		case "istio-native-pin":
			o.Istio.NativePin = true
		case "keys":
			o.Keys = testKeys(t, value)
		default:
			t.Fatalf("%s: no such option: %s", g.name, word)
		}
	}
	return o
}

func testKeys(t *testing.T, source string) policyconfig.Keys {
	t.Helper()
	switch source {
	case "clear":
		return policyconfig.Keys{Ring: &policyconfig.KeyRing{Keys: []policyconfig.Key{{ID: "test", Secret: []byte(testSecret)}}}}
	case "sealed":
		sealed, err := os.ReadFile(filepath.Join("testdata", "ring.sealed"))
		if err != nil {
			t.Fatal(err)
		}
		return policyconfig.Keys{Sealed: strings.TrimSpace(string(sealed))}
	default:
		t.Fatalf("no such source of keys: %s", source)
		return policyconfig.Keys{}
	}
}

// compileOutputs gives the contents of the case's output files, by their endings.
func (g golden) compileOutputs(t *testing.T) map[string][]byte {
	t.Helper()
	got := map[string][]byte{}
	result, err := Compile([]Source{g.source}, g.parseOptions(t))
	var problems Errors
	switch {
	case errors.As(err, &problems):
		got[".err.txt"] = []byte(problems.Error() + "\n")
		return got
	case err != nil:
		t.Fatalf("%s: %v", g.name, err)
	}
	for _, f := range result.Files {
		got["."+f.Name] = f.Data
	}
	if len(result.Warnings) > 0 {
		got[".warnings.txt"] = []byte(warningText(result.Warnings))
	}
	return got
}

// warningText gives a line for each warning, with a mark on those that are advice.
func warningText(warnings []Problem) string {
	var b strings.Builder
	for _, w := range warnings {
		if w.Advice {
			b.WriteString("(advice) ")
		}
		b.WriteString(w.String() + "\n")
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for _, g := range loadGoldens(t) {
		t.Run(g.name, func(t *testing.T) {
			got := g.compileOutputs(t)
			for _, ending := range outputSuffixes {
				compareFile(t, filepath.Join("testdata", g.name+ending), got[ending])
			}
		})
	}
}

// compareFile compares bytes with a file's; nil means that there must be no such file.
func compareFile(t *testing.T, file string, got []byte) {
	t.Helper()
	if *updateGoldens {
		rewriteFile(t, file, got)
	}
	want, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if got != nil {
			t.Errorf("%s is missing; got:\n%s", file, got)
		}
	case err != nil:
		t.Error(err)
	case got == nil:
		t.Errorf("%s is there, and nothing came", file)
	case !bytes.Equal(got, want):
		t.Errorf("%s differs (go test ./compiler -update rewrites it); got:\n%s", file, got)
	}
}

func rewriteFile(t *testing.T, file string, content []byte) {
	t.Helper()
	err := os.Remove(file)
	if content != nil {
		err = os.WriteFile(file, content, 0o644)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
