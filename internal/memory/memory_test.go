package memory

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// selectedPod is a pod of the Service shop/cart, and the key that the compiler has for it.
func selectedPod(address, uid string, left time.Time) *compiler.SelectedPod {
	return &compiler.SelectedPod{Namespace: "shop", Service: "cart", Address: netip.MustParseAddr(address), UID: uid, Left: left}
}

// TestSelected: a file remembers all pods that are known, and a store that all processes share those that a Service has left.
func TestSelected(t *testing.T) {
	left := selectedPod("10.0.0.1", "a", time.Unix(7, 0).UTC())
	known := compiler.NewSelection(map[string]*compiler.SelectedPod{"a": left, "b": selectedPod("10.0.0.2", "b", time.Time{})})
	file, shared := File(filepath.Join(t.TempDir(), "unselected.json")), &lastEntries{}
	for name, c := range map[string]struct {
		store Store
		want  []string
	}{"file": {file, []string{"a", "b"}}, "shared": {shared, []string{"a"}}} {
		s, err := newSelected(c.store)
		must(t, err)
		must(t, s.Update(known))
		again, err := newSelected(c.store)
		must(t, err)
		for key, pod := range known.Pods {
			if got, is := again.Now.Pods[key]; is != (key == "a" || len(c.want) == 2) || is && !reflect.DeepEqual(got, pod) {
				t.Errorf("%s: of %s is remembered %+v", name, key, got)
			}
		}
		must(t, again.Update(compiler.NewSelection(nil)))
		if last, err := newSelected(c.store); err != nil || len(last.Now.Pods) > 0 {
			t.Errorf("%s: %v is remembered of pods that are gone: %v", name, last.Now.Pods, err)
		}
	}
}

// TestSelectedDamaged: what is no pod is forgotten, and is no endpoint.
func TestSelectedDamaged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "unselected.json")
	must(t, os.WriteFile(file, []byte(`{"a": null, "b": {"pod": "b"}, "c": {"address": "nowhere"}, "d": {"address": "10.0.0.1", "pod": "d"}}`), 0o600))
	s, err := newSelected(File(file))
	if len(s.Now.Pods) != 1 || s.Now.Pods["d"] == nil || err == nil {
		t.Errorf("%v is remembered: %v", s.Now.Pods, err)
	}
}

// TestLoad: what can't be read is told of by its kind, and the rest is remembered all the same.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	open := func(kind *Kind) Store { return File(filepath.Join(dir, kind.Name)) }
	must(t, os.WriteFile(filepath.Join(dir, OwnersKind.Name), []byte("nothing"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, DrainingKind.Name), []byte(`{"shop/10.0.0.1:80": "2026-01-01T00:00:00Z"}`), 0o600))
	var reported []string
	m := Load(open, func(lost string, _ error) { reported = append(reported, lost) })
	if !reflect.DeepEqual(reported, []string{OwnersKind.lost}) || len(m.Draining.Since) != 1 || len(m.Owners.Of) != 0 {
		t.Errorf("it says %q, and remembers %v and %v", reported, m.Draining.Since, m.Owners.Of)
	}
}

// TestIsSame: two processes that see the same a few seconds apart remember the same, and need not write it again.
func TestIsSame(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, c := range []struct {
		kind *Kind
		a, b any
		want bool
	}{
		{DrainingKind, at, at.Add(9 * time.Second), true},
		{DrainingKind, at, at.Add(11 * time.Second), false},
		{SelectedKind, selectedPod("10.0.0.1", "a", at), selectedPod("10.0.0.1", "a", at.Add(-9*time.Second)), true},
		{SelectedKind, selectedPod("10.0.0.1", "a", at), selectedPod("10.0.0.1", "b", at), false},
		{SelectedKind, selectedPod("10.0.0.1", "a", at), selectedPod("10.0.0.1", "a", at.Add(time.Minute)), false},
		{OwnersKind, rememberedOwner{UID: "a", Gone: at}, rememberedOwner{UID: "a", Gone: at.Add(time.Hour)}, true},
		{OwnersKind, rememberedOwner{UID: "a", Gone: at}, rememberedOwner{UID: "a"}, false},
		{OwnersKind, rememberedOwner{UID: "a", Reused: true}, rememberedOwner{UID: "a", Reused: true, Live: true}, false},
		{OwnersKind, rememberedOwner{UID: "a"}, "a", false},
	} {
		a, _ := json.Marshal(c.a)
		b, _ := json.Marshal(c.b)
		if got := c.kind.IsSame(a, b); got != c.want {
			t.Errorf("%s: %s and %s are the same: %t", c.kind.Name, a, b, got)
		}
	}
}
