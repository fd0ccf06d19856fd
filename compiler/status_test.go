package compiler

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// minStatuses is how many goldens of status there are at least.
const minStatuses = 60

// statusTime is the time at which the goldens' conditions change.
var statusTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestStatusGolden compares the statuses of the cases that have a NAME.status.yaml. A new, empty file of this name and
// -update make one.
func TestStatusGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.status.yaml"))
	if err != nil || len(files) < minStatuses {
		t.Fatalf("%d statuses to compare, want %d at least (%v)", len(files), minStatuses, err)
	}
	for _, g := range loadGoldens(t) {
		file := filepath.Join("testdata", g.name+".status.yaml")
		if _, err := os.Stat(file); err == nil {
			t.Run(g.name, func(t *testing.T) { compareFile(t, file, g.statusFile(t)) })
			files = files[1:]
		}
	}
	if len(files) > 0 {
		t.Errorf("%d statuses belong to no case", len(files))
	}
}

// statusFile gives the content of the case's golden of status.
func (g golden) statusFile(t *testing.T) []byte {
	t.Helper()
	text := checkedYAML(t, g)
	if g.whole {
		return text
	}
	return writeGolden(t, "status", parseDocuments(t, text), nil)
}

func checkedYAML(t *testing.T, g golden) []byte {
	t.Helper()
	o := g.parseOptions(t)
	o.Time = statusTime
	checked, err := Check([]Source{g.source}, o)
	if err != nil || checked.Errors != nil {
		t.Fatalf("%s: %v, %v", g.name, err, checked)
	}
	text, err := status.YAML(checked.Objects)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestCheckAgreesWithCompile shows for every case that a check finds the errors that a compilation has, and that it
// has rows for each of the warnings.
func TestCheckAgreesWithCompile(t *testing.T) {
	for _, g := range loadGoldens(t) {
		o := g.parseOptions(t)
		if o.Target != "" && o.Target.findController() != "" {
			continue // a check is about what limpet serves itself
		}
		o.Strict = false
		result, compileErr := Compile([]Source{g.source}, o)
		checked, err := Check([]Source{g.source}, o)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		if (compileErr != nil) != (checked.Errors != nil) || compileErr != nil && compileErr.Error() != checked.Errors.Error() {
			t.Errorf("%s: a check finds %v, a compilation %v", g.name, checked.Errors, compileErr)
		}
		if result == nil {
			continue
		}
		reported := 0
		for _, r := range checked.Rows {
			if r.Message != "" && r.Reason != "Overridden" && r.Reason != "Pending" {
				reported++
			}
		}
		warned := 0
		for _, w := range result.Warnings {
			if w.Reason != "Pending" {
				warned++
			}
		}
		if reported != warned {
			t.Errorf("%s: %d rows say something, want one for each of %d warnings", g.name, reported, warned)
		}
	}
}

// TestStatusHasNoSecret greps the statuses and rows of the cases that have keys.
func TestStatusHasNoSecret(t *testing.T) {
	found := 0
	for _, g := range loadGoldens(t) {
		if !strings.HasPrefix(g.name, "option-keys") {
			continue
		}
		found++
		text := checkedYAML(t, g)
		for _, secret := range []string{testSecret, testRoot, "test-secret"} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s: the status shows %q", g.name, secret)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d cases with keys, want 2 at least", found)
	}
}

// TestShuffledDocumentsGiveTheSameStatus checks each case's documents in another order, and describes an object in both.
func TestShuffledDocumentsGiveTheSameStatus(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	shuffled := 0
	for _, g := range loadGoldens(t) {
		documents := strings.Split(string(g.source.Data), "\n---\n")
		if len(documents) < 3 || strings.Contains(string(g.source.Data), "--- ") {
			continue
		}
		before := statusAndSettings(t, g)
		random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
		other := g
		other.source.Data = []byte(strings.Join(documents, "\n---\n"))
		if line := optionsLine.Find(g.source.Data); line != nil {
			other.source.Data = append(slices.Clone(line), other.source.Data...)
		}
		if before == "" {
			continue
		}
		shuffled++
		if after := statusAndSettings(t, other); after != before {
			t.Errorf("%s: shuffled documents give another status or other settings:\n%s\nwant\n%s", g.name, after, before)
		}
	}
	if shuffled < 100 {
		t.Errorf("only %d cases were shuffled", shuffled)
	}
}

// statusAndSettings is what a check and descriptions give, but for the places in files; empty for a refused input.
func statusAndSettings(t *testing.T, g golden) string {
	t.Helper()
	o := g.parseOptions(t)
	o.Time = statusTime
	checked, err := Check([]Source{g.source}, o)
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	if checked.Errors != nil {
		return ""
	}
	text, err := status.YAML(checked.Objects)
	if err != nil {
		t.Fatal(err)
	}
	describable := slices.DeleteFunc(slices.Clone(checked.Objects), func(o status.Object) bool {
		return slices.Contains(undescribed, o.Kind)
	})
	if len(describable) == 0 {
		return string(text)
	}
	object := describable[len(text)%len(describable)] // another one for each case
	words := object.Kind + "/" + object.Metadata.Namespace + "/" + object.Metadata.Name
	d, err := Describe([]Source{g.source}, o, strings.ReplaceAll(words, "//", "/"), "")
	if err != nil {
		t.Fatalf("%s: %s: %v", g.name, words, err)
	}
	d.Budgets = nil // of two routes at a hostname the first in the input takes the room for it (S75)
	settings, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, linePlace.ReplaceAll(settings, nil)...)
	return string(text)
}

// undescribed are the kinds that have a status and no settings.
var undescribed = []string{"BackendTLSPolicy", "ListenerSet", "TLSRoute", "TCPRoute", "UDPRoute"}

var linePlace = regexp.MustCompile(`"line":\d+,?`)
