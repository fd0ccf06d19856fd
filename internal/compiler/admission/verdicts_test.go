package admission

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	serverURL   = flag.String("server", "", "with -update: take the verdicts from the API server at this URL (record.sh)")
	serverToken = flag.String("token", "", "bearer token for -server")
)

const verdictsFile = "testdata/verdicts.json"

// verdicts is what a real API server said of the whole corpus.
type verdicts struct {
	Server string                            `json:"server"`
	Cases  map[APIRelease]map[string]verdict `json:"cases"`
}

// verdict is what is said of one object: what is wrong with it, or the object with its defaults.
type verdict struct {
	Unknown  []string       `json:"unknown,omitempty"`  // paths of unknown fields, about which a server warns
	Errors   []string       `json:"errors,omitempty"`   // path and message of each error
	Admitted map[string]any `json:"admitted,omitempty"` // the object without metadata and status
}

// newVerdict sorts errors into a verdict, in Admit's order, whoever found them.
func newVerdict(errs field.ErrorList, unknown []string, obj map[string]any) verdict {
	v := verdict{Unknown: slices.Sorted(slices.Values(unknown))}
	slices.SortStableFunc(errs, compareErrors)
	for _, e := range errs {
		v.Errors = append(v.Errors, e.Error())
	}
	if len(errs) == 0 {
		v.Admitted = obj
		delete(obj, "metadata") // a server fills in times and ids
		delete(obj, "status")
	}
	return v
}

// TestVerdicts holds Admit to the verdicts of a real API server: the same errors in the same words, the same
// unknown fields, the same defaults. A server drops unknown fields, so what it admits is compared without them.
func TestVerdicts(t *testing.T) {
	cases := readCorpus(t)
	if *update && *serverURL != "" {
		recordVerdicts(t, cases)
	}
	text, err := os.ReadFile(verdictsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want verdicts
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for apiRelease := range releases {
		if len(want.Cases[apiRelease]) != len(cases) {
			t.Errorf("%s: %d verdicts for %d cases; run record.sh", apiRelease, len(want.Cases[apiRelease]), len(cases))
		}
		a := newAdmitter(t, apiRelease)
		for _, c := range cases {
			compareVerdicts(t, string(apiRelease)+", "+c.id, ourVerdict(t, a, c.parse(t)), want.Cases[apiRelease][c.id])
		}
	}
}

func ourVerdict(t *testing.T, a *Admitter, obj map[string]any) verdict {
	t.Helper()
	var errs field.ErrorList
	var unknown []string
	for _, e := range a.Admit(obj) {
		if IsUnknownField(e) {
			unknown = append(unknown, e.Field)
		} else {
			errs = append(errs, e)
		}
	}
	if v, _ := a.resolve(obj); v != nil {
		obj, _ = v.dropUnknown(obj)
	}
	return newVerdict(errs, unknown, obj)
}

func compareVerdicts(t *testing.T, id string, got, want verdict) {
	t.Helper()
	gotText, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	wantText, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(gotText, wantText) {
		t.Errorf("%s\nwe say %s\nthe server says %s", id, gotText, wantText)
	}
}
