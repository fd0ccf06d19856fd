package session

import (
	"strings"
	"testing"
)

// FuzzFindCookie holds the search that skips other cookies against a walk over all of them.
func FuzzFindCookie(f *testing.F) {
	for _, line := range []string{
		"", ";", "cart", "cart=", "cart=1", "theme=dark; cart=1", "cart=1; cart=2", " \tcart = \"1\" ;cart", "cartel=1; cart=2",
		"a=cart=1; b", "cart;cart=3", "x=" + strings.Repeat("y", 100) + ";cart=4;;", "car; ca=1;cart=5; z",
	} {
		f.Add(line, "cart")
	}
	f.Fuzz(func(t *testing.T, line, want string) {
		for rest := line; ; {
			value, after, found := findCookie(rest, want, "")
			wantValue, wantAfter, wantFound := walk(rest, want)
			if value != wantValue || after != wantAfter || found != wantFound {
				t.Fatalf("%q in %q: %q, %q, %v; want %q, %q, %v", want, rest, value, after, found, wantValue, wantAfter, wantFound)
			}
			if rest = after; !found {
				return
			}
		}
	})
}

// walk looks at every cookie in turn.
func walk(line, want string) (value, rest string, found bool) {
	for line != "" {
		var name string
		if name, value, line = nextCookie(line); name == want {
			return value, line, true
		}
	}
	return "", "", false
}

func TestIndexByte(t *testing.T) {
	for length := range 40 {
		for at := range length + 1 {
			s := strings.Repeat("\xba\x3a\x3c\x00", 10)[:length]
			if at < length {
				s = s[:at] + ";" + s[at+1:]
			}
			if got, want := indexSemicolon(s), strings.IndexByte(s, ';'); got != want {
				t.Errorf("%q: %d, want %d", s, got, want)
			}
		}
	}
}
