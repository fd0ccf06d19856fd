package policyconfig

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSyntaxFaults(t *testing.T) {
	deep := strings.Repeat("[", maxDepth)
	for text, want := range map[string]string{
		"":                            "1:1: expected a value",
		" \n\t ":                      "2:3: expected a value",
		"{":                           "1:2: expected a field's name in double quotes",
		"[1,]":                        "1:4: expected a value",
		`{"a":1,}`:                    "1:8: expected a field's name in double quotes",
		`{"a" 1}`:                     "1:6: expected a colon",
		`{"a":1 "b":2}`:               "1:8: expected a comma or }",
		`[1 2]`:                       "1:4: expected a comma or ]",
		`[1}`:                         "1:3: expected a comma or ]",
		"{}\n{}":                      "2:1: expected nothing more",
		"{} // comment":               "1:4: expected nothing more",
		"\ufeff{}":                    "1:1: expected a value",
		"{'a':1}":                     "1:2: expected a field's name in double quotes",
		`{a:1}`:                       "1:2: expected a field's name in double quotes",
		`[tru]`:                       "1:2: expected a value",
		`[NaN]`:                       "1:2: expected a value",
		`[+1]`:                        "1:2: expected a value",
		`[.5]`:                        "1:2: expected a value",
		`[01]`:                        "1:3: expected a comma or ]",
		`[1.]`:                        "1:4: expected a digit",
		`[-]`:                         "1:3: expected a digit",
		`[1e]`:                        "1:4: expected a digit",
		`[1e+]`:                       "1:5: expected a digit",
		`["a`:                         "1:4: a string without an end",
		"[\"a\nb\"]":                  "1:4: control character in a string",
		`["\x"]`:                      "1:3: unknown escape in a string",
		`["\u12g4"]`:                  "1:3: unknown escape in a string",
		`["\u123`:                     "1:3: unknown escape in a string",
		`["\u+123"]`:                  "1:3: unknown escape in a string",
		`["\`:                         "1:3: unknown escape in a string",
		`["\ud800"]`:                  "1:3: half of a surrogate pair",
		`["\ud800\u0041"]`:            "1:3: half of a surrogate pair",
		`["\udc00\ud800"]`:            "1:3: half of a surrogate pair",
		`["\ud800\`:                   "1:3: half of a surrogate pair",
		"[\"é\xff\"]":                 "1:4: not valid UTF-8",
		"[\"\xed\xa0\x80\"]":          "1:3: not valid UTF-8",
		"[\"\xc0\xaf\"]":              "1:3: not valid UTF-8",
		"{\n  \"é\": \"ü\" x":         "2:12: expected a comma or }",
		deep + "[":                    "1:17: nested more than 16 deep",
		strings.Repeat("[", 100_000):  "1:17: nested more than 16 deep",
		strings.Repeat(`{"a":`, 1000): "1:81: nested more than 16 deep",
	} {
		if got := checkSyntax(text); got != "not valid JSON at "+want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

func TestSyntaxTakes(t *testing.T) {
	for _, text := range []string{
		"{}", "[]", " [ ] ", "0", "-0", "-1.5e+10", "1E-2", `""`, "true", "false", "null", `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, "\"\x7f\u2028é😀\"",
		"\r\n\t{\"a\" : [ {} , [ ] , 1 ] }\n", strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
	} {
		if got := checkSyntax(text); got != "" {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// FuzzSyntax holds the scanner against encoding/json, which is laxer in three ways: depth, UTF-8 and surrogates.
func FuzzSyntax(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"\u00e9\ud83d\ude00",true,null]}`, `[[[]]]`, `["\ud800"]`, "[\"\xff\"]", `{"a":1,}`, "01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault := checkSyntax(text)
		if fault == "" && (!json.Valid([]byte(text)) || !utf8.ValidString(text)) {
			t.Fatalf("%q was taken", text)
		}
		lax := strings.Contains(fault, "deep") || strings.Contains(fault, "UTF-8") || strings.Contains(fault, "surrogate")
		if fault != "" && !lax && json.Valid([]byte(text)) {
			t.Fatalf("%q: %s", text, fault)
		}
	})
}
