package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// leastBlocks is how many documents and blocks of each language there are at the least; languages that are not here are
// unknown. Blocks of text are for people alone.
var leastBlocks = map[string]int{"document": 9, "sh": 2, "yaml": 12, "json": 4, "text": 1, "console": 0}

// TestDocumentation runs every shell block of README.md, docs/ and the other documents, and holds every block of YAML
// and JSON against what reads it.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	checks := map[string]func(*testing.T, harness.Block){"yaml": checkYAML, "json": checkJSON}
	counts := map[string]int{}
	for _, document := range harness.Markdown(t, leastBlocks["document"]) {
		scratch, printed := newScratch(t), ""
		for i, block := range harness.Blocks(t, document) {
			counts[block.Language]++
			t.Run(fmt.Sprintf("%s:%d", document, block.Line), func(t *testing.T) {
				switch check := checks[block.Language]; {
				case block.NotRun != "":
					t.Logf("not run: %s", block.NotRun)
				case check != nil:
					check(t, block)
				case block.Language == "sh":
					printed = scratch.run(t, block.Text)
				case block.Printed:
					checkPrinted(t, document, i, printed)
				}
			})
		}
	}
	for language, count := range counts {
		if _, known := leastBlocks[language]; !known {
			t.Errorf("%d blocks of the language %q, for which there is no check", count, language)
		}
	}
	for language, want := range leastBlocks {
		if got := counts[language]; language != "document" && got < want {
			t.Errorf("%d blocks of %s, want %d or more", got, language, want)
		}
	}
}

// docsFolder is a folder in which the shell blocks of one document run one after the other, as a reader would run
// them: with limpet on PATH and the examples at hand.
type docsFolder struct {
	dir     string
	shipped harness.Shipped
}

func newScratch(t *testing.T) docsFolder {
	t.Helper()
	s := docsFolder{dir: t.TempDir(), shipped: harness.Find(t)}
	if err := os.Symlink(filepath.Join(s.shipped.Root, "examples"), filepath.Join(s.dir, "examples")); err != nil {
		t.Fatal(err)
	}
	return s
}

// run gives what the script prints on its standard output.
func (s docsFolder) run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	bash.Dir = s.dir
	path := []string{filepath.Dir(s.shipped.Limpet), filepath.Dir(s.shipped.Envoy), os.Getenv("PATH")}
	bash.Env = []string{"PATH=" + strings.Join(path, ":"), "HOME=" + s.dir, "TMPDIR=" + s.dir}
	var stderr strings.Builder
	bash.Stderr = &stderr
	output, err := bash.Output()
	if err != nil {
		t.Errorf("%v\n%s\n%s%s", err, script, output, stderr.String())
	}
	return string(output)
}

var updatePages = flag.Bool("update", false, "write what commands print into the pages that show it")

// checkPrinted wants a document's block to be what the command before it has printed.
func checkPrinted(t *testing.T, document string, i int, printed string) {
	t.Helper()
	block := harness.Blocks(t, document)[i] // where it is now
	switch {
	case printed == "":
		t.Errorf("%s:%d: the command before prints nothing", block.Document, block.Line)
	case *updatePages:
		page := strings.SplitAfter(harness.ReadDocument(t, document), "\n")
		end := block.Line - 1 + strings.Count(block.Text, "\n")
		text := strings.Join(page[:block.Line-1], "") + printed + strings.Join(page[end:], "")
		if err := os.WriteFile(filepath.Join(harness.Root(t), document), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	case block.Text != printed:
		t.Errorf("%s:%d: it prints\n%s\nand the page has\n%s\n('go test ./e2e -run TestX -update' writes it)", block.Document, block.Line, printed, block.Text)
	}
}

// checkJSON hands a plugin configuration to the filter's own parser and a key ring to limpet keygen.
func checkJSON(t *testing.T, block harness.Block) {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(block.Text), &fields); err != nil {
		t.Fatal(err)
	}
	switch {
	case fields["version"] != nil:
		if _, errs := policyconfig.Parse(block.Text); len(errs) > 0 {
			t.Errorf("the filter refuses it: %v", errs)
		}
	case fields["keys"] != nil:
		keygen(t, "--add-to", writeFile(t, "keys.json", block.Text))
	default:
		t.Error("neither a plugin configuration nor a key ring: what reads it?")
	}
}

// checkYAML hands an Envoy configuration to Envoy, and objects to the CRDs and to the compiler.
func checkYAML(t *testing.T, block harness.Block) {
	t.Helper()
	var objects []map[string]any
	for text := range strings.SplitSeq(block.Text, "\n---\n") {
		var object map[string]any
		asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
		if err == nil {
			err = utiljson.Unmarshal(asJSON, &object)
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	if objects[0]["static_resources"] != nil {
		validateEnvoy(t, block.Text)
		return
	}
	compileObjects(t, objects)
}

// validateEnvoy has Envoy check a configuration from the root of the tree, where dist/limpet.wasm is.
func validateEnvoy(t *testing.T, text string) {
	t.Helper()
	shipped := harness.Find(t)
	validate := exec.Command(shipped.Envoy, "--mode", "validate", "-c", writeFile(t, "envoy.yaml", text), "--use-dynamic-base-id")
	validate.Dir, validate.Env = shipped.Root, []string{"LIMPET_KEYS=" + harness.NewRing("first").JSON(t)}
	if output, err := validate.CombinedOutput(); err != nil {
		t.Errorf("Envoy refuses it: %v\n%s", err, output)
	}
}

// compileObjects wants every object admitted by an API server with the CRDs of one generation of Gateway API, and
// compiles those of the generation up to 1.6. What limpet says it does not support yet counts as checked, and so does a
// reference to what a page leaves out.
func compileObjects(t *testing.T, objects []map[string]any) {
	t.Helper()
	var input []string
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if admitted(t, object) == admission.Gateway16 {
			input = append(input, string(text))
		}
	}
	if len(input) == 0 {
		return
	}
	path := writeFile(t, "objects.yaml", strings.Join(input, "---\n"))
	code, _, stderr := harness.Limpet(t, nil, "compile", "-f", path, "-t", "plugin", "--allow-empty", "--fail-on", "never")
	refusals := 0
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "error: ") || strings.Contains(line, " in the input: ") {
			continue
		}
		refusals++
		if !strings.Contains(line, "not supported yet") {
			t.Errorf("limpet refuses it: %s", line)
		}
	}
	if code != 0 && refusals == 0 {
		t.Errorf("limpet ends with exit code %d: %s", code, stderr)
	}
	t.Logf("limpet does not support yet: %d of %d objects", refusals, len(objects))
}

// admitted is the first generation whose CRDs, with limpet's own, let an object in. Kinds that have no CRD count as
// let in, for the compiler checks them itself.
func admitted(t *testing.T, object map[string]any) admission.APIRelease {
	t.Helper()
	var refusals []string
	for _, generation := range []admission.APIRelease{admission.Gateway16, admission.Gateway17} {
		server, err := admission.New(generation, api.CRDs()...)
		if err != nil {
			t.Fatal(err)
		}
		if core := slices.Contains([]any{"v1", "discovery.k8s.io/v1"}, object["apiVersion"]); core {
			return generation
		}
		errs := server.Admit(object)
		if len(errs) == 0 {
			return generation
		}
		refusals = append(refusals, fmt.Sprintf("%s: %v", generation, errs.ToAggregate()))
	}
	t.Errorf("%v %v is admitted by no generation:\n%s", object["kind"], object["metadata"], strings.Join(refusals, "\n"))
	return ""
}

var (
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	named     = regexp.MustCompile(`\blimpet (compile|keygen|run|version)\b([^|;&>)]*)`)
	flagInUse = regexp.MustCompile(`(?:^|\s)(--?[a-z][a-z-]*)`)
)

// TestDocumentedFlags: every flag that a document gives to a limpet command in running text or in a block is one
// that the command has.
func TestDocumentedFlags(t *testing.T) {
	t.Parallel()
	help := map[string]string{}
	found := 0
	for _, document := range harness.Markdown(t, leastBlocks["document"]) {
		text := harness.ReadDocument(t, document)
		for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
			for _, command := range named.FindAllStringSubmatch(span[1], -1) {
				if help[command[1]] == "" {
					_, help[command[1]], _ = harness.Limpet(t, nil, command[1], "--help", "--all")
				}
				own, _, _ := strings.Cut(command[2], " -- ") // what follows are Envoy's
				for _, flag := range flagInUse.FindAllStringSubmatch(own, -1) {
					found++
					if !regexp.MustCompile(`(?m)^\s+(-\w, )?` + flag[1] + `[ ,]`).MatchString(help[command[1]]) {
						t.Errorf("%s: %q: limpet %s has no flag %s", document, span[1], command[1], flag[1])
					}
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d flags found", found)
	}
}
