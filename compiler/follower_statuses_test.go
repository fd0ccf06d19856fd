package compiler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// TestStatusesFromPartsEqualCheck changes objects of all kinds at random, and compares after each change the statuses that the parts
// of a follower come to with those of a whole check.
//
// requirements: S59, S60, S61, S62, S63, S64
func TestStatusesFromPartsEqualCheck(t *testing.T) {
	const worlds = 4
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := Options{AllowEmpty: true, AssumeClass: seed%3 == 0, Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{
				Together: seed%2 == 1, Own: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.3:8080")},
				Rejected: map[string]string{"shop/web": "some words"},
			}}}
			followStatuses(t, o, seed, loadWorld(t))
		})
	}
}

// followStatuses edits a world for some rounds.
func followStatuses(t *testing.T, o Options, seed int, world []*worldObject) {
	t.Helper()
	random, compared := rand.New(rand.NewPCG(uint64(seed), 31)), 0
	now := map[object.Ref]json.RawMessage{}
	if seed%2 == 0 {
		o.CurrentStatus = func(ref object.Ref) json.RawMessage { return now[ref] }
	}
	f, changed := newFollower(t, o), slices.Clone(world)
	for round := range sized(15, 120) {
		o.Time = time.Unix(int64(1000+30*round), 0)
		sources, changes := listWorld(world, changed)
		changes.Time = o.Time
		if _, err := f.Apply(changes); err == nil {
			if d := f.Decided(); d != nil {
				compared++
				got := d.Statuses(o)
				checkStatuses(t, fmt.Sprintf("round %d", round), got, sources, o)
				now = noteStatuses(t, got.Objects)
			}
		}
		if t.Failed() {
			for _, c := range changed {
				t.Logf("changed: %s gone=%t\n%s", c.name, c.gone, c.text)
			}
			t.FailNow()
		}
		changed = mend(world)
		for range 1 + random.IntN(3) {
			one := world[random.IntN(len(world))]
			one.edit(random)
			changed = append(changed, one)
		}
	}
	if compared < sized(15, 120)/2 {
		t.Errorf("%d rounds were compared", compared)
	}
}

// listWorld gives the sources of a world by their names, and what has changed of them.
func listWorld(world, changed []*worldObject) (sources []Source, c Changes) {
	for _, one := range world {
		if !one.gone {
			sources = append(sources, Source{Name: one.name, Data: []byte(one.text)})
		}
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	for _, one := range changed {
		if one.gone {
			c.Removed = append(c.Removed, one.name)
		} else {
			c.Set = append(c.Set, Source{Name: one.name, Data: []byte(one.text)})
		}
	}
	return sources, c
}

// checkStatuses compares statuses with those of a whole check.
func checkStatuses(t *testing.T, name string, got *CheckResult, sources []Source, o Options) {
	t.Helper()
	want, err := Statuses(sources, o)
	if err != nil {
		t.Fatal(err)
	}
	gotTexts, wantTexts := formatStatuses(t, got.Objects), formatStatuses(t, want.Objects)
	if len(gotTexts) != len(wantTexts) {
		t.Errorf("%s: %d statuses, want %d", name, len(gotTexts), len(wantTexts))
	}
	for i := range min(len(gotTexts), len(wantTexts)) {
		if gotTexts[i] != wantTexts[i] {
			t.Errorf("%s: got\n%s\nwant\n%s", name, gotTexts[i], wantTexts[i])
			return
		}
	}
	if fmt.Sprint(got.Errors) != fmt.Sprint(want.Errors) || fmt.Sprint(got.PassedOver) != fmt.Sprint(want.PassedOver) {
		t.Errorf("%s: got %v, %v\nwant %v, %v", name, got.Errors, got.PassedOver, want.Errors, want.PassedOver)
	}
}

// noteStatuses gives what objects have once their statuses are written.
func noteStatuses(t *testing.T, objects []status.Object) map[object.Ref]json.RawMessage {
	t.Helper()
	written := map[object.Ref]json.RawMessage{}
	for _, o := range objects {
		text, err := json.Marshal(o.Status)
		if err != nil {
			t.Fatal(err)
		}
		written[object.Ref{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}] = text
	}
	return written
}

func formatStatuses(t *testing.T, objects []status.Object) (texts []string) {
	t.Helper()
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
