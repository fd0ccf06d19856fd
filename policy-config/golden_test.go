package policyconfig

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// configText reads a configuration and writes it again.
func configText(data string) (string, error) {
	c, errs := Parse(data)
	if len(errs) > 0 {
		return "", errs
	}
	text, err := Marshal(c)
	return string(text), err
}

// ringText is the same for a key ring.
func ringText(data string) (string, error) {
	ring, errs := ParseKeyRing(data)
	if len(errs) > 0 {
		return "", errs
	}
	text, err := MarshalKeyRing(ring)
	return string(text), err
}

// A valid document's golden file holds what Marshal makes of it, so every default shows.
func TestValid(t *testing.T)     { testValid(t, "testdata/valid/*.json", 25, configText) }
func TestValidRing(t *testing.T) { testValid(t, "testdata/ring/valid/*.json", 3, ringText) }

func testValid(t *testing.T, pattern string, least int, text func(string) (string, error)) {
	for _, name := range files(t, pattern, least) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			got, err := text(read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".golden", got)
			if again, err := text(got); err != nil || again != got {
				t.Errorf("read and written again it is\n%s%v", again, err)
			}
		})
	}
}

// An invalid document's golden file holds its errors.
func TestInvalid(t *testing.T)     { testInvalid(t, "testdata/invalid/*.json", 80, configText) }
func TestInvalidRing(t *testing.T) { testInvalid(t, "testdata/ring/invalid/*.json", 14, ringText) }

func testInvalid(t *testing.T, pattern string, least int, text func(string) (string, error)) {
	for _, name := range files(t, pattern, least) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			got, err := text(read(t, name))
			if err == nil {
				t.Fatalf("it was read as\n%s", got)
			}
			golden(t, strings.TrimSuffix(name, ".json")+".err.txt", err.Error()+"\n")
		})
	}
}

// Every golden file belongs to a case, so none can grow stale unseen.
func TestNoStrayGoldenFiles(t *testing.T) {
	for pattern, suffix := range map[string]string{
		"testdata/valid/*.golden":         ".golden",
		"testdata/ring/valid/*.golden":    ".golden",
		"testdata/invalid/*.err.txt":      ".err.txt",
		"testdata/ring/invalid/*.err.txt": ".err.txt",
	} {
		for _, name := range files(t, pattern, 1) {
			document := strings.TrimSuffix(name, suffix)
			if suffix == ".err.txt" {
				document += ".json"
			}
			read(t, document)
		}
	}
}

// Both parsers give an empty value with errors, so that no caller goes on with half a configuration.
func TestErrorsComeWithoutAValue(t *testing.T) {
	for _, name := range files(t, "testdata/invalid/*.json", 80) {
		if c, _ := Parse(read(t, name)); !reflect.DeepEqual(c, Config{}) {
			t.Errorf("%s: got %+v", name, c)
		}
	}
	for _, name := range files(t, "testdata/ring/invalid/*.json", 14) {
		if ring, _ := ParseKeyRing(read(t, name)); ring.Keys != nil {
			t.Errorf("%s: got %+v", name, ring)
		}
	}
}
