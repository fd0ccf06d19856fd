package aliasyaml

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

var testParts = []Part{
	{"wait", map[string]any{"initial": "25ms", "longest": "250ms"}},
	{"retry", map[string]any{"on": "reset,refused", "times": 3.0, "wait": map[string]any{"initial": "25ms", "longest": "250ms"}}},
	{"hosts", []any{"a.example", "b.example"}},
}

const testAnchors = `common:
  wait: &wait {initial: 25ms, longest: 250ms}
  retry: &retry {'on': 'reset,refused', times: 3, wait: *wait}
  hosts: &hosts [a.example, b.example]
`

func TestAnchors(t *testing.T) {
	if got := string(Anchors(testParts)); got != testAnchors {
		t.Errorf("got\n%s\nwant\n%s", got, testAnchors)
	}
}

func TestText(t *testing.T) {
	retry := func(changes ...any) map[string]any {
		all := map[string]any{"on": "reset,refused", "times": 3.0, "wait": testParts[0].Value}
		for i := 0; i < len(changes); i += 2 {
			all[changes[i].(string)] = changes[i+1]
		}
		return all
	}
	without := retry()
	delete(without, "times")
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"a whole part is an alias":                      {[]any{retry()}, "- *retry\n"},
		"a list too":                                    {[]any{map[string]any{"for": testParts[2].Value}}, "- {for: *hosts}\n"},
		"more keys stand next to it":                    {[]any{retry("name", "cart")}, "- {<<: *retry, name: cart}\n"},
		"a key that differs overrides":                  {[]any{retry("times", 4.0)}, "- {<<: *retry, times: 4}\n"},
		"most that differ, and it is another value":     {[]any{retry("times", 4.0, "on", "503")}, "- {'on': '503', times: 4, wait: *wait}\n"},
		"a key that is not there can't be taken away":   {[]any{without}, "- {'on': 'reset,refused', wait: *wait}\n"},
		"one key is too little to save":                 {[]any{map[string]any{"initial": "25ms", "at": 1.0}}, "- {at: 1, initial: 25ms}\n"},
		"nothing":                                       {[]any{}, ""},
		"texts that would be read as something else":    {[]any{"no", "1e3", ""}, "- 'no'\n- '1e3'\n- ''\n"},
		"texts that single quotes do not do for":        {[]any{"it's", "a\nb"}, "- \"it's\"\n- \"a\\nb\"\n"},
		"what is no text":                               {[]any{1.5, nil, true}, "- 1.5\n- null\n- true\n"},
		"empty mappings and lists within others":        {[]any{[]any{}, map[string]any{"a": map[string]any{}}}, "- []\n- {a: {}}\n"},
		"what a line does not hold is on several lines": {[]any{map[string]any{"a": longText, "b": 1.0}}, "- a: " + longText + "\n  b: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want := "all:\n" + c.want
			if c.want == "" {
				want = "all: []\n"
			}
			if got := string(Text("all", c.value, testParts)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			checkRead(t, c.value)
		})
	}
}

const longText = "abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/abcdefghi"

// checkRead holds that a parser reads the value from what is written of it.
func checkRead(t *testing.T, value any) {
	t.Helper()
	text := slices.Concat(Anchors(testParts), Text("all: &all", value, testParts))
	var read map[string]any
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !reflect.DeepEqual(read["all"], value) {
		t.Errorf("%v was read from\n%s\nwant %v", read["all"], text, value)
	}
}

// TestRandomValuesAreRead writes values that are made at random of parts, pieces of parts and odd texts.
func TestRandomValuesAreRead(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		checkRead(t, randomValue(random, 4))
	}
}

func randomValue(random *rand.Rand, depth int) any {
	texts := []string{
		"", "~", "yes", "25ms", "reset,refused", "10.0.0.1:80", "a: b", "#", "- x", "*", "&a", "'", `"`, "\t", "\u2028", "é",
		"0x1f", "1:30", "{", longText,
	}
	if kind := random.IntN(8); depth > 0 && kind < 5 {
		switch kind {
		case 0, 1:
			return testParts[random.IntN(len(testParts))].Value
		case 2:
			list := []any{}
			for range random.IntN(4) {
				list = append(list, randomValue(random, depth-1))
			}
			return list
		}
		mapping := map[string]any{}
		for _, key := range []string{"on", "times", "wait", "initial", "longest", "@type", "a b"} {
			if random.IntN(2) == 0 {
				mapping[key] = randomValue(random, depth-1)
			}
		}
		return mapping
	}
	scalars := []any{texts[random.IntN(len(texts))], float64(random.IntN(2000)) / 8, random.IntN(2) == 0, nil, fmt.Sprint(random.IntN(99))}
	return scalars[random.IntN(len(scalars))]
}
