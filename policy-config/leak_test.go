package policyconfig

import (
	"strings"
	"testing"
)

// Whatever stands below keys may be a secret, in its place or not: as a value of any field, as a field's name,
// cut short, or in a document that is not even JSON. No message may repeat it, or eight characters of it.
func TestNoMessageRepeatsWhatMayBeASecret(t *testing.T) {
	for _, marker := range []string{"Q7x!leak-this_one", encodedSecret, "SECRETSECRETSECRET1", "sHorTsEc"} {
		for _, base := range []string{"everything", "keys-from-env", "keys-sealed"} {
			doc := decodeAny(t, read(t, "testdata/valid/"+base+".json.golden"))
			for _, at := range places(doc, nil) {
				if at[0] == "keys" {
					testLeak(t, doc, at, marker, func(text string) ErrorList { _, errs := Parse(text); return errs })
				}
			}
		}
		ring := decodeAny(t, read(t, "testdata/ring/valid/rotation.json"))
		for _, at := range places(ring, nil) {
			testLeak(t, ring, at, marker, func(text string) ErrorList { _, errs := ParseKeyRing(text); return errs })
		}
	}
}

// testLeak puts the marker at a place in several ways.
func testLeak(t *testing.T, doc any, at []any, marker string, parse func(string) ErrorList) {
	old := get(doc, at)
	for _, planted := range []any{marker, []any{marker}, map[string]any{marker: marker}, map[string]any{"keys": []any{map[string]any{marker: 1, "id": marker}}}} {
		put(doc, at, planted)
		text := encodeAny(t, doc)
		put(doc, at, old)
		where := strings.Index(text, marker)
		for _, broken := range []string{text, text[:where], text[:where+len(marker)], text[:where-1] + text[where:], strings.Replace(text, marker, marker+"\n", 1), strings.Replace(text, marker, marker+`\u`, 1)} {
			message := parse(broken).Error()
			for i := 0; i+8 <= len(marker); i++ {
				if strings.Contains(message, marker[i:i+8]) {
					t.Fatalf("%v: %s", at, message)
				}
			}
		}
	}
}

// The test above is worth something only if outside of keys, where values are shown, it would find them.
func TestValuesOutsideKeysAreShown(t *testing.T) {
	_, errs := Parse(`{"version":"limpet.dev/v1","policies":[],"pinHeader":"Q7x leak","unknown-thing":1}`)
	if got := errs.Error(); !strings.Contains(got, "Q7x leak") || !strings.Contains(got, "unknown-thing") {
		t.Error(got)
	}
}
