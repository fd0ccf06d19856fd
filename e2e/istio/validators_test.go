package istio

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"istio.io/istio/pkg/config/schema/collections"
)

// general is the one warning that Istio has for every EnvoyFilter, whatever it says.
const general = "EnvoyFilter exposes internal implementation details that may change at any time. " +
	"Prefer other APIs if possible, and exercise extreme caution, especially around upgrades."

// minCases is how many of the compiler's golden cases are for Istio at least.
const minCases = 20

// TestIstioAcceptsEveryDocument holds what limpet writes for the compiler's golden cases to Istio's own validators. A
// warning counts as a failure, for that is all they say of a mistake inside an EnvoyFilter; but for the general one.
func TestIstioAcceptsEveryDocument(t *testing.T) {
	cases, checked := 0, 0
	for _, input := range goldenInputs(t) {
		text, refused := input.compile(t)
		if refused {
			continue
		}
		cases++
		istio, _ := sorted(t, "", documents(t, text))
		for _, c := range configs(t, istio) {
			schema, known := collections.Istio.FindByGroupVersionAliasesKind(c.GroupVersionKind)
			if !known {
				t.Fatalf("%s: Istio does not know %s", input.file, c.GroupVersionKind)
			}
			warning, err := schema.ValidateConfig(c)
			if err != nil || warning != nil && warning.Error() != general {
				what := c.GroupVersionKind.Kind + " " + c.Namespace + "/" + c.Name
				t.Errorf("%s: %s: %v, warning %v", filepath.Base(input.file), what, err, warning)
			}
			checked++
		}
	}
	checkMistakes(t)
	if cases < minCases || checked < 2*minCases {
		t.Errorf("checked %d documents of %d cases only", checked, cases)
	}
}

// goldenInput is the input of a golden case for Istio, with its options, which are called as limpet's are.
type goldenInput struct {
	file    string
	options []string
	env     []string
}

// The secrets that package compiler compiles the cases with.
const (
	goldenRing = `{"keys": [{"id": "test", "secret": "dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ"}]}`
	goldenRoot = "dGVzdC1yb290LXRlc3Qtcm9vdC10ZXN0LXJvb3QtdGVzdC1yb290"
)

func goldenInputs(t *testing.T) []goldenInput {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "compiler", "testdata", "*.in.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ring := filepath.Join(t.TempDir(), "ring.json")
	if err := os.WriteFile(ring, []byte(goldenRing), 0o600); err != nil {
		t.Fatal(err)
	}
	var inputs []goldenInput
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		options, has := strings.CutPrefix(line, "# options: ")
		if !has || !slices.Contains(strings.Fields(options), "target=istio") {
			continue
		}
		input := goldenInput{file: file, options: []string{"--wasm-url", "https://example.com/limpet.wasm"}}
		if strings.Contains(options, "filter-path=") {
			input.options = []string{"--filter", "native"}
		}
		for word := range strings.FieldsSeq(options) {
			switch word {
			case "keys=clear":
				input.options = append(input.options, "--keys", ring, "--keys-in-clear")
			case "keys=sealed":
				input.options = append(input.options, "--keys", ring)
				input.env = []string{"LIMPET_ROOT=" + goldenRoot}
			default:
				input.options = append(input.options, "--"+word)
			}
		}
		inputs = append(inputs, input)
	}
	return inputs
}

// compile gives limpet's documents for the input; some inputs are there to be refused.
func (g goldenInput) compile(t *testing.T) (text string, refused bool) {
	t.Helper()
	cmd := exec.Command(shipped.limpet, append([]string{"compile", "-f", g.file}, g.options...)...)
	cmd.Env = append(os.Environ(), g.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	_, missing := os.Stat(strings.TrimSuffix(g.file, ".in.yaml") + ".err.txt")
	refused = missing == nil
	if cmd.ProcessState.ExitCode() == leftOut && !refused {
		err = nil
	}
	if refused != (err != nil) {
		t.Fatalf("%s: %v\n%s", g.file, err, &stderr)
	}
	return string(out), refused
}

// leftOut is the exit code of a compilation that leaves something out and writes the rest.
const leftOut = 3

// checkMistakes shows that the validators see a mistake inside a patch.
func checkMistakes(t *testing.T) {
	t.Helper()
	text := strings.Replace(bindLoopback, "{socket_address:", "{socket_adress:", 1)
	for _, c := range configs(t, text) {
		schema, _ := collections.Istio.FindByGroupVersionAliasesKind(c.GroupVersionKind)
		if warning, err := schema.ValidateConfig(c); err == nil && (warning == nil || warning.Error() == general) {
			t.Error("Istio's validator sees no mistake in an EnvoyFilter that has one")
		}
	}
}
