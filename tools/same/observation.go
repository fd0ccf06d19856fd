package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// observation is all that one limpet makes of an input.
type observation struct {
	// compiled and checked are how "limpet compile" and "limpet check" ended.
	compiled, checked reply
	// files are the configurations by their names.
	files    map[string][]byte
	problems []problem
	// statuses are the objects that "limpet check -o yaml" prints.
	statuses []any
	// descriptions are how "limpet describe -o json" ended, by object.
	descriptions map[string]description
}

// problem is one entry of the file of --report.
type problem struct {
	problemKey
	Message string `json:"message"`
}

// problemKey is what must stay of a problem when its words change.
type problemKey struct {
	Object  string `json:"object"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Path    string `json:"path"`
}

func (k problemKey) String() string {
	return fmt.Sprintf("%s %s:%d: %s: %s (%s)", k.Verdict, filepath.Base(k.File), k.Line, k.Object, k.Path, k.Reason)
}

// description is what a description holds, or the exit code where there is none.
type description struct {
	code  int
	value any
}

// observe compiles, checks and describes an input. The folder is for what limpet writes. An error says that limpet was
// used wrongly or wrote what can't be read: then nothing can be compared.
func observe(run runner, in input, dir string) (*observation, error) {
	o := &observation{files: map[string][]byte{}, descriptions: map[string]description{}}
	if err := o.compile(run, in, dir); err != nil {
		return nil, err
	}
	if err := o.checkStatuses(run, in); err != nil {
		return nil, err
	}
	for _, object := range in.objects {
		if err := o.describe(run, in, object); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// compile notes what "limpet compile" writes and reports.
func (o *observation) compile(run runner, in input, dir string) error {
	out, report := filepath.Join(dir, "out"), filepath.Join(dir, "report.json")
	for _, path := range []string{out, report} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	var err error
	if o.compiled, err = runChecked(run, append(in.compileArgs(), "-o", out, "--report", report)); err != nil {
		return err
	}
	if err := o.readFiles(out); err != nil {
		return err
	}
	return o.readReport(report)
}

func (o *observation) readFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		data, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
		o.files[e.Name()] = data
		err = errors.Join(err, readErr)
	}
	return err
}

func (o *observation) readReport(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var report struct {
		Findings []problem `json:"findings"`
	}
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	o.problems = report.Findings
	return err
}

// checkStatuses notes the statuses.
func (o *observation) checkStatuses(run runner, in input) (err error) {
	if o.checked, err = runChecked(run, in.checkArgs()); err != nil {
		return err
	}
	o.statuses, err = parseStatuses(o.checked.Stdout)
	return err
}

func (o *observation) describe(run runner, in input, object string) error {
	r, err := run(in.describeArgs(object))
	if err != nil {
		return err
	}
	d := description{code: r.Code}
	if r.Code == 0 {
		if err := json.Unmarshal(r.Stdout, &d.value); err != nil {
			return fmt.Errorf("describe %s: %w", object, err)
		}
		d.value = renameKeys(d.value)
	}
	o.descriptions[object] = d
	return nil
}

// runChecked runs a command and makes sure that limpet understood it: two refusals of one command line are equal and
// tell nothing.
func runChecked(run runner, args []string) (reply, error) {
	r, err := run(args)
	if err == nil && r.Code == wrongUsage {
		err = fmt.Errorf("limpet %s: %s", strings.Join(args, " "), r.Stderr)
	}
	return r, err
}

// wrongUsage is limpet's exit code for a wrong command line.
const wrongUsage = 2

// renamedKeys are the keys of "limpet describe -o json" that have got other names.
var renamedKeys = map[string]string{
	"rung": "precedence", "beats": "overrides", "beaten": "overridden", "holds": "effective", "tries": "retries",
}

// renameKeys gives a value with the new names of keys.
func renameKeys(value any) any {
	switch v := value.(type) {
	case map[string]any:
		renamed := make(map[string]any, len(v))
		for name, member := range v {
			if now, changed := renamedKeys[name]; changed {
				name = now
			}
			renamed[name] = renameKeys(member)
		}
		return renamed
	case []any:
		for i := range v {
			v[i] = renameKeys(v[i])
		}
	}
	return value
}

// parseStatuses reads the documents of statuses. Times since this program began are the clock's, and are left out.
func parseStatuses(text []byte) ([]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var all []any
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var object any
		if err := yaml.Unmarshal(part, &object); err != nil {
			return nil, fmt.Errorf("statuses: %w", err)
		}
		dropTimes(object)
		all = append(all, object)
	}
	return all, nil
}

// began is to the second, as times in statuses are.
var began = time.Now().Truncate(time.Second)

// dropTimes takes out when conditions changed, where they change now.
func dropTimes(value any) {
	switch v := value.(type) {
	case map[string]any:
		if text, is := v["lastTransitionTime"].(string); is {
			if at, err := time.Parse(time.RFC3339, text); err == nil && !at.Before(began) {
				v["lastTransitionTime"] = "now"
			}
		}
		for _, member := range v {
			dropTimes(member)
		}
	case []any:
		for _, item := range v {
			dropTimes(item)
		}
	}
}
