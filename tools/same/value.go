package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// mismatch is the first place at which two values differ.
type mismatch struct{ path, old, now string }

func (m *mismatch) String() string { return fmt.Sprintf("%s\n- %s\n+ %s", m.path, m.old, m.now) }

// compareValues finds the first place at which two values of JSON or YAML differ by more than words. It gives nil if
// there is none.
func compareValues(path string, old, now any, w wordTable) *mismatch {
	switch before := old.(type) {
	case map[string]any:
		if after, same := now.(map[string]any); same {
			return compareMaps(path, before, after, w)
		}
	case []any:
		if after, same := now.([]any); same {
			return compareLists(path, before, after, w)
		}
	case string:
		if after, same := now.(string); same && w.equal(before, after) {
			return nil
		}
	default:
		if reflect.DeepEqual(old, now) {
			return nil
		}
	}
	return &mismatch{path, shorten(old), shorten(now)}
}

func compareMaps(path string, old, now map[string]any, w wordTable) *mismatch {
	names := slices.Sorted(maps.Keys(old))
	for name := range now {
		if _, has := old[name]; !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, had := old[name]
		after, has := now[name]
		at := path + "." + name
		switch {
		case !had:
			return &mismatch{at, "nothing", shorten(after)}
		case !has:
			return &mismatch{at, shorten(before), "nothing"}
		}
		if m := compareValues(at, before, after, w); m != nil {
			return m
		}
	}
	return nil
}

func compareLists(path string, old, now []any, w wordTable) *mismatch {
	for i := range min(len(old), len(now)) {
		if m := compareValues(path+"["+strconv.Itoa(i)+"]", old[i], now[i], w); m != nil {
			return m
		}
	}
	at := path + "[" + strconv.Itoa(min(len(old), len(now))) + "]"
	switch {
	case len(old) > len(now):
		return &mismatch{at, shorten(old[len(now)]), "nothing"}
	case len(now) > len(old):
		return &mismatch{at, "nothing", shorten(now[len(old)])}
	default:
		return nil
	}
}

// mostShown is how many bytes of a value or line are shown.
const mostShown = 300

// shorten shows a value as JSON on one line.
func shorten(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte(fmt.Sprint(value))
	}
	return cutText(string(text))
}

func cutText(text string) string {
	if len(text) > mostShown {
		return text[:mostShown] + "..."
	}
	return text
}
