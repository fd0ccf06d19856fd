package compiler

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

var updateGoldens = flag.Bool("update", false, "rewrite the files that the tests compare with")

// minGoldens is how many cases there are at least: a glob that finds none must not pass.
const minGoldens = 140

// golden is a case under testdata: NAME.in.yaml or NAME.in.json, and what must come of it, in files next to it
// (README.md there says which). A first line "# options: ..." sets the options, a line "# golden: whole" asks for the
// outputs as they are, byte for byte.
type golden struct {
	name   string // without ".in.yaml"
	source Source
	whole  bool
}

// outputSuffixes are the endings of the files that a case may have. One that is not expected must not be there.
var outputSuffixes = []string{
	".envoy.yaml", ".envoy-gateway.yaml", ".istio.yaml", ".plugin.json", ".warnings.txt", ".err.txt",
	".bootstrap.yaml", ".listeners.yaml", ".routes.yaml", ".clusters.yaml", ".documents.yaml", ".plugin.yaml",
}

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
		// Problems name the input "in.yaml", so that they stay as they are when a case gets a better name.
		source := Source{Name: strings.TrimPrefix(base, name+"."), Data: data}
		cases[i] = golden{name: name, source: source, whole: wholeLine.Match(data)}
	}
	return cases
}

var (
	optionsLine = regexp.MustCompile(`^# options: (.*)\n`)
	wholeLine   = regexp.MustCompile(`(?m)^# golden: whole$`)
)

// The secrets of the cases that have keys. The sealed ring is the clear one, sealed under testRoot.
const (
	testSecret = "test-secret-test-secret-test-secret"
	testRoot   = "dGVzdC1yb290LXRlc3Qtcm9vdC10ZXN0LXJvb3QtdGVzdC1yb290"
)

func (g golden) parseOptions(t *testing.T) Options {
	t.Helper()
	var words []string
	if line := optionsLine.FindSubmatch(g.source.Data); line != nil {
		words = strings.Fields(string(line[1]))
	}
	o := optionsFor(TargetEnvoy)
	for _, word := range words {
		if target, is := strings.CutPrefix(word, "target="); is {
			o = optionsFor(Target(target))
		}
	}
	if strings.HasPrefix(g.name, "err-") {
		o.Strict, o.FailOn = true, Refused // to see what is refused, and nothing else
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "target":
		case "bind":
			o.Bind = value
		case "admin":
			o.Envoy.Admin = value
		case "native":
			o.Envoy.Native = true
		case "wasm":
			o.Envoy.ModulePath = value
		case "wasm-url":
			if o.Istio != nil {
				o.Istio.WasmURL = value
			} else {
				o.EnvoyGateway.WasmURL = value
			}
		case "filter-path":
			o.goNative(value)
		case "gateway-api":
			o.GatewayAPI = value
		case "system-namespace":
			o.ClassPolicyNamespace = value
		case "partial-split":
			o.PartialSplit = value
		case "zone":
			o.Zone = value
		case "share-addresses":
			o.ShareAddresses = true
		case "assume-admitted":
			o.AssumeAdmitted = true
		case "strict":
			o.Strict, o.FailOn = true, ""
		case "external-names":
			o.ExternalNames = strings.Split(value, ",")
		case "controller-name":
			o.ControllerName = value
		case "assume-class":
			o.AssumeClass = true
		case "allow-empty":
			o.AllowEmpty = true
		case "strict-kinds":
			o.StrictKinds = true
		case "namespace":
			o.Namespace = value
		case "istio":
			for setting := range strings.SplitSeq(value, ",") {
				setIstio(t, o.Istio, setting)
			}
		case "keys":
			o.Keys = testKeys(t, value)
		default:
			t.Fatalf("%s: no such option: %s", g.name, word)
		}
	}
	return o
}

// setIstio sets what --istio does.
func setIstio(t *testing.T, o *IstioOptions, setting string) {
	t.Helper()
	switch key, value, _ := strings.Cut(setting, "="); key {
	case "phase":
		o.Phase = value
	case "priority":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		priority := int32(n)
		o.Priority = &priority
	case "fail-strategy":
		o.FailStrategy = value
	case "root-namespace":
		o.RootNamespace = value
	case "traffic-extension":
		o.TrafficExtension = true
	case "native-pin":
		o.NativePin = true
	default:
		t.Fatalf("no such setting of Istio: %s", setting)
	}
}

// optionsFor are what a target needs.
func optionsFor(target Target) Options {
	o, url, sha256 := Options{Target: target}, "https://example.com/limpet.wasm", strings.Repeat("0123456789abcdef", 4)
	switch target {
	case TargetEnvoy:
		o.Envoy = &EnvoyOptions{ModulePath: "dist/limpet.wasm"}
	case TargetEnvoyGateway:
		o.EnvoyGateway = &EnvoyGatewayOptions{WasmURL: url, WasmSHA256: sha256}
	case TargetIstio:
		o.Istio = &IstioOptions{WasmURL: url, WasmSHA256: sha256}
	}
	return o
}

// goNative has another control plane's proxies load liblimpet.so.
func (o *Options) goNative(path string) {
	if o.Istio != nil {
		o.Istio = &IstioOptions{NativePath: path}
		return
	}
	o.EnvoyGateway = &EnvoyGatewayOptions{NativePath: path}
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

// goldenFiles gives the contents of the case's golden files, by their endings.
func (g golden) goldenFiles(t *testing.T) map[string][]byte {
	t.Helper()
	outputs := g.compileOutputs(t)
	if g.whole {
		return outputs
	}
	return splitOutputs(t, outputs)
}

// warningText gives a line for each warning, with a mark on those that are advice.
func warningText(warnings []Problem) string {
	var b strings.Builder
	for _, w := range warnings {
		if w.Verdict() != Warning {
			b.WriteString("(" + strings.ToLower(string(w.Verdict())) + ") ")
		}
		b.WriteString(w.String() + "\n")
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for _, g := range loadGoldens(t) {
		t.Run(g.name, func(t *testing.T) {
			got := g.goldenFiles(t)
			for _, ending := range outputSuffixes {
				compareFile(t, filepath.Join("testdata", g.name+ending), got[ending])
			}
		})
	}
}

// eachOutput visits the whole outputs of all cases that have an ending, of which there must be a number at least:
// what a case's golden files leave out is validated too.
func eachOutput(t *testing.T, ending string, atLeast int, visit func(name string, text []byte)) {
	t.Helper()
	for _, g := range loadGoldens(t) {
		if text, has := g.compileOutputs(t)[ending]; has {
			visit(g.name, text)
			atLeast--
		}
	}
	if atLeast > 0 {
		t.Fatalf("%d cases with %s are missing", atLeast, ending)
	}
}

// TestGoldenFilesBelongToCases finds what a case that was renamed or removed has left.
func TestGoldenFilesBelongToCases(t *testing.T) {
	others := []string{
		"README.md", "common.yaml", "capabilities.yaml", "effects.yaml", "effects-stream.yaml", "follower.yaml", "follower-streams.yaml",
		"ring.sealed", "statuses.yaml",
	}
	cases := map[string]bool{}
	for _, g := range loadGoldens(t) {
		cases[g.name] = true
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(file.Name(), ".")
		if !cases[name] && !slices.Contains(others, file.Name()) {
			t.Errorf("testdata/%s belongs to no case", file.Name())
		}
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
