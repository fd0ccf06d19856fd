package admission

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzAdmit gives Admit any JSON object, under every kind in turn. It must not panic, must say the same of the
// same object twice, and must find nothing to change in an object that it has filled in.
func FuzzAdmit(f *testing.F) {
	for _, c := range readCorpus(f) {
		text, err := json.Marshal(c.object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint8(0))
	}
	f.Add([]byte(`{"spec":{"rules":[{"sessionPersistence":{"type":null}}]},"status":[]}`), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		var obj map[string]any
		if utiljson.Unmarshal(text, &obj) != nil || obj == nil {
			return
		}
		if i := int(kind) - 1; i >= 0 && i < len(kindsRead) { // 0 keeps the text's own
			obj["kind"], obj["apiVersion"] = kindsRead[i], "gateway.networking.k8s.io/v1"
			if kindsRead[i][0] == 'X' {
				obj["apiVersion"] = "gateway.networking.x-k8s.io/v1alpha1"
			}
		}
		for apiRelease := range releases {
			admitTwice(t, newAdmitter(t, apiRelease), obj)
		}
	})
}

func admitTwice(t *testing.T, a *Admitter, obj map[string]any) {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	first, second := decodeYAML(t, text), decodeYAML(t, text)
	before := admitMessages(t, a, first)
	if again := admitMessages(t, a, second); !slices.Equal(before, again) {
		t.Errorf("%s: %q, then %q", text, before, again)
	}
	if again := admitMessages(t, a, first); !slices.Equal(before, again) || !reflect.DeepEqual(first, second) {
		t.Errorf("%s: with its defaults: %q, then %q", text, before, again)
	}
}
