package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// input is one thing to compile, check and describe.
type input struct {
	name string
	// path is a file or folder. Where there is text, it is that of a file which is not there yet.
	path string
	text string
	flags
	// golden is the path of the files that say what must come of it, without their endings; empty if there are none.
	golden  string
	objects []string // to describe, as KIND/NAMESPACE/NAME
}

// flags are the options of an input. Check and describe know fewer of them than compile does.
type flags struct {
	target  string
	reading []string // of all commands
	writing []string // of compile alone
	strict  bool     // of compile and check
}

// compileArgs name the filter's place, where an envoy.yaml has one and no option does: the default is in the folder of
// the output.
func (in *input) compileArgs() []string {
	args := append(in.checkedArgs("compile"), in.writing...)
	if in.target == "envoy" && !slices.ContainsFunc(args, isFilterOption) {
		args = append(args, "--filter-path=dist/limpet.wasm")
	}
	return args
}

func isFilterOption(arg string) bool {
	return arg == "--filter=native" || strings.HasPrefix(arg, "--filter-path=")
}

func (in *input) checkArgs() []string {
	return append(in.checkedArgs("check"), "-o", "yaml")
}

func (in *input) describeArgs(object string) []string {
	return append(in.args("describe"), object, "-o", "json")
}

func (in *input) checkedArgs(command string) []string {
	args := in.args(command)
	if in.strict {
		args = append(args, "--strict")
	}
	return args
}

func (in *input) args(command string) []string {
	return append([]string{command, "-f", in.path, "-t", in.target}, in.reading...)
}

// defaultFlags are a target's flags in the golden tests.
func defaultFlags(target string) flags {
	return flags{target: target, writing: []string{
		"--wasm-url", "https://example.com/limpet.wasm@sha256:" + strings.Repeat("0123456789abcdef", 4),
	}}
}

// goldenRoot is the root secret of the goldens, as in compiler/golden_test.go.
const goldenRoot = "dGVzdC1yb290LXRlc3Qtcm9vdC10ZXN0LXJvb3QtdGVzdC1yb290"

// goldenRing is their key ring.
const goldenRing = `{"keys": [{"id": "test", "secret": "dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ"}]}`

// readingFlags are the goldens' options that all commands have as flags.
var readingFlags = []string{"gateway-api", "system-namespace"}

var optionsLine = regexp.MustCompile(`^# options: (.*)\n`)

// parseOptions makes flags of a golden's first line. Names that it does not know become flags of compile of the same
// name, which limpet refuses if it has none.
func parseOptions(text []byte, keyFile string) (flags, error) {
	f := defaultFlags("envoy")
	line := optionsLine.FindSubmatch(text)
	if line == nil {
		return f, nil
	}
	for _, word := range strings.Fields(string(line[1])) {
		if err := f.add(word, keyFile); err != nil {
			return f, err
		}
	}
	return f, nil
}

// add adds an option of a golden's first line.
func (f *flags) add(word, keyFile string) error {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "target":
		f.target = value
	case "strict":
		f.strict = true
	case "native":
		f.writing = []string{"--filter=native"}
	case "filter-path":
		f.writing = []string{"--filter=native", "--filter-path=" + value}
	case "wasm":
		f.writing = append(f.writing, "--filter-path="+value)
	case "keys":
		switch value {
		case "clear":
			f.writing = append(f.writing, "--keys", keyFile, "--keys-in-clear")
		case "sealed":
			f.writing = append(f.writing, "--keys", keyFile)
		default:
			return fmt.Errorf("no such source of keys: %s", value)
		}
	default:
		if slices.Contains(readingFlags, name) {
			f.reading = append(f.reading, "--"+word)
		} else {
			f.writing = append(f.writing, "--"+word)
		}
	}
	return nil
}

// writeKeys writes the goldens' key ring into a folder and gives the file's name.
func writeKeys(dir string) (string, error) {
	file := filepath.Join(dir, "keys.json")
	return file, os.WriteFile(file, []byte(goldenRing), 0o600)
}

// minGoldens is how many goldens there are at least: a glob that finds none must not pass.
const minGoldens = 140

// golden is a golden input with its options.
type golden struct {
	input
	data string
}

// readGoldens reads the golden inputs of a tree, and the inputs of other tests beside them.
func readGoldens(tree, keyFile string) ([]golden, error) {
	folder := filepath.Join(tree, "compiler", "testdata")
	files, err := filepath.Glob(filepath.Join(folder, "*.in.*"))
	if err != nil {
		return nil, err
	}
	if len(files) < minGoldens {
		return nil, fmt.Errorf("%s has %d golden inputs, want %d at least", folder, len(files), minGoldens)
	}
	var goldens []golden
	for _, file := range files {
		g, err := readGolden(file, keyFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		goldens = append(goldens, g)
	}
	for _, name := range []string{"capabilities", "effects"} {
		data, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
		if err != nil {
			return nil, err
		}
		text := strings.ReplaceAll(string(data), "CONTROLLER", "limpet.dev/gateway-controller")
		in := input{name: "golden/" + name, text: text, flags: defaultFlags("envoy"), objects: findObjects(text)}
		goldens = append(goldens, golden{in, text})
	}
	return goldens, nil
}

// readGolden reads a golden input, with its options in its first line.
func readGolden(file, keyFile string) (golden, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return golden{}, err
	}
	f, err := parseOptions(data, keyFile)
	base, _, _ := strings.Cut(file, ".in.")
	// as the golden tests: to see what is refused, and nothing else
	if strings.HasPrefix(filepath.Base(base), "err-") && !f.strict {
		f.strict, f.writing = true, append(f.writing, "--fail-on=refused")
	}
	return golden{input{
		name: "golden/" + filepath.Base(base), path: file, flags: f, golden: base, objects: findObjects(string(data)),
	}, string(data)}, err
}

// targets are all that limpet writes for.
var targets = []string{"envoy", "plugin", "istio", "envoy-gateway"}

// readExamples gives every folder with YAML below a tree's examples, for each target.
func readExamples(tree string) ([]input, error) {
	root := filepath.Join(tree, "examples")
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		texts[filepath.Dir(path)] += separator + string(data)
		return err
	})
	if err == nil && len(texts) == 0 {
		err = errors.New("there are no examples in " + root)
	}
	var all []input
	for dir, text := range texts {
		for _, target := range targets {
			all = append(all, input{
				name: "example/" + filepath.Base(dir) + "/" + target, path: dir, objects: findObjects(text),
				flags: defaultFlags(target),
			})
		}
	}
	slices.SortFunc(all, func(a, b input) int { return strings.Compare(a.name, b.name) })
	return all, err
}

// describableKinds are the kinds that "limpet describe" knows.
var describableKinds = []string{
	"GatewayClass", "Gateway", "HTTPRoute", "GRPCRoute", "HTTPProxy", "VirtualService", "Service", "XBackend",
	"SessionPersistencePolicy", "XBackendTrafficPolicy", "LoadBalancerPolicy",
}

// findObjects names the objects of a text that can be described.
func findObjects(text string) []string {
	var names []string
	for _, document := range splitDocuments(text) {
		var fields map[string]any
		if yaml.Unmarshal([]byte(document), &fields) == nil {
			names = appendObjects(names, fields)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func appendObjects(names []string, fields map[string]any) []string {
	items, _ := fields["items"].([]any)
	for _, item := range items {
		if member, is := item.(map[string]any); is {
			names = appendObjects(names, member)
		}
	}
	kind, _ := fields["kind"].(string)
	metadata, _ := fields["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	switch {
	case name == "" || !slices.Contains(describableKinds, kind):
		return names
	case kind == "GatewayClass":
		return append(names, kind+"/"+name)
	case namespace == "":
		namespace = "default"
	}
	return append(names, kind+"/"+namespace+"/"+name)
}

// splitDocuments cuts a text of YAML into its documents.
func splitDocuments(text string) []string { return strings.Split(text, separator) }

// separator stands between documents of YAML.
const separator = "\n---\n"
