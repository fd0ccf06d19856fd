package policyconfig

import (
	"reflect"
	"testing"
)

// FuzzParse: no text makes Parse panic, errors come without a value, and whatever parses is written and read
// again as the same.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/valid/*.json", "testdata/invalid/*.json"} {
		for _, name := range files(f, pattern, 25) {
			f.Add(read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, errs := Parse(text)
		if len(errs) > 0 {
			if !reflect.DeepEqual(c, Config{}) || errs.Error() == "" {
				t.Fatalf("got %+v beside %q", c, errs)
			}
			return
		}
		data, err := Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := Validate(c); err != nil {
			t.Fatalf("what Marshal writes, Validate refuses: %v", err)
		}
		back, errs := Parse(string(data))
		if len(errs) > 0 || !reflect.DeepEqual(back, c) {
			t.Fatalf("%s\nis read as %+v, %v\nnot as     %+v", data, back, errs, c)
		}
	})
}

// FuzzParseKeyRing is the same for key rings.
func FuzzParseKeyRing(f *testing.F) {
	for _, pattern := range []string{"testdata/ring/valid/*.json", "testdata/ring/invalid/*.json"} {
		for _, name := range files(f, pattern, 3) {
			f.Add(read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		ring, errs := ParseKeyRing(text)
		if len(errs) > 0 {
			return
		}
		data, err := MarshalKeyRing(ring)
		if err != nil {
			t.Fatal(err)
		}
		if back, errs := ParseKeyRing(string(data)); len(errs) > 0 || !reflect.DeepEqual(back, ring) {
			t.Fatalf("%d keys are read back as %d, %v", len(ring.Keys), len(back.Keys), errs)
		}
	})
}
