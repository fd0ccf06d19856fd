package keyfile

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The secret of the tests, and a key and a ring with it, on one line.
var (
	testSecret = base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("secret!!", 4)))
	testKey    = `{"id":"a","secret":"` + testSecret + `"}`
	testRing   = `{"keys":[` + testKey + `]}`
)

// secretOf is a Secret with these lines.
func secretOf(lines ...string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: ring}\n" + strings.Join(lines, "\n") + "\n"
}

// TestReadFrom reads a ring in every form that it may have, and refuses the rest without showing what is in it.
func TestReadFrom(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(testRing))
	for _, c := range []struct{ name, data, fails string }{
		{"a ring", testRing, ""},
		{"a ring on many lines", strings.ReplaceAll(testRing, ",", ",\n  "), ""},
		{"a Secret's data", secretOf("data: {keys.json: " + encoded + "}"), ""},
		{"a Secret's stringData", secretOf("stringData: {LIMPET_KEYS: '" + testRing + "'}"), ""},
		{"both, of one name", secretOf("data: {keys.json: bm90aGluZw==}", "stringData: {keys.json: '"+testRing+"'}"), ""},
		{
			"two names", secretOf("data: {keys.json: "+encoded+"}", "stringData: {LIMPET_KEYS: '"+testRing+"'}"),
			"must hold one key ring",
		},
		{
			"another name", secretOf("data: {ring: " + encoded + "}"),
			"must hold one key ring, under the name keys.json or LIMPET_KEYS",
		},
		{"an empty Secret", secretOf("stringData: {keys.json: ''}"), "the Secret's key ring is empty"},
		{"another object", "kind: ConfigMap\ndata: {keys.json: '" + testRing + "'}", "keys"},
		{"an unknown field", strings.Replace(testRing, "secret", "secert", 1), "unknown field"},
		{"a key twice", `{"keys":[` + testKey + "," + testKey + "]}", "keys[1].id: Duplicate value"},
		{"too much", strings.Repeat(" ", maxFile+1), "not a key ring: more than 1048576 bytes"},
		{"nothing", "", "keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadFrom("keys.json", strings.NewReader(c.data))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.HasPrefix(err.Error(), "keys.json: ") {
					t.Errorf("got %v, want %q in it", err, c.fails)
				}
				if err != nil && (strings.Contains(err.Error(), testSecret) || strings.Contains(err.Error(), encoded)) {
					t.Errorf("the secret is in the error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, err := Marshal(got); err != nil || string(line) != testRing {
				t.Errorf("got %s, %v", line, err)
			}
		})
	}
}

// TestRead warns of files that others can read, whether there is a ring in them or not.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		mode     os.FileMode
		text     string
		warns    string
		succeeds bool
	}{
		{0o600, testRing, "", true},
		{0o400, testRing, "", true},
		{0o640, testRing, "(mode 0640); run 'chmod 600' on it", true},
		{0o644, "{}", "(mode 0644); run 'chmod 600' on it", false},
	} {
		path := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		_, warning, err := Read(path)
		if (err == nil) != c.succeeds || !strings.Contains(warning, c.warns) || (warning == "") != (c.warns == "") {
			t.Errorf("%04o %s: warning %q, error %v", c.mode, c.text, warning, err)
		}
	}
	for mode, want := range map[os.FileMode]string{
		0o755: "", 0o777: "others than its owner can replace keys.json (mode 0777); run 'chmod go-w' on the folder",
		0o770: "others than its owner can replace keys.json (mode 0770)", 0o777 | os.ModeSticky: "",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "keys.json")
		if err := errors.Join(os.WriteFile(path, []byte(testRing), 0o600), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		_, warning, err := Read(path)
		if err != nil || !strings.Contains(warning, want) || (warning == "") != (want == "") {
			t.Errorf("in a folder %v: warning %q, error %v", mode, warning, err)
		}
	}
	if _, _, err := Read(filepath.Join(t.TempDir(), "missing.json")); !os.IsNotExist(err) {
		t.Errorf("got %v for a file that is not there", err)
	}
}
