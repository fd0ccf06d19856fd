package gateway

import (
	"slices"
	"strings"
	"testing"
)

// TestIntersect takes the examples of HTTPRoute's spec.hostnames, and what they leave open.
func TestIntersect(t *testing.T) {
	for _, c := range []struct{ listener, route, want string }{
		{"test.example.com", "*", "test.example.com"},
		{"test.example.com", "test.example.com", "test.example.com"},
		{"test.example.com", "*.example.com", "test.example.com"},
		{"*.example.com", "*", "*.example.com"},
		{"*.example.com", "*.example.com", "*.example.com"},
		{"*.example.com", "test.example.com", "test.example.com"},
		{"*.example.com", "foo.test.example.com", "foo.test.example.com"},
		{"*.example.com", "*.test.example.com", "*.test.example.com"},
		{"*.example.com", "example.com", ""},
		{"*.example.com", "test.example.net", ""},
		{"*.example.com", "notexample.com", ""},
		{"*.example.com", "*.com", "*.example.com"},
		{"*.a.example.com", "*.b.example.com", ""},
		{"a.example.com", "b.example.com", ""},
		{"*", "*", "*"},
	} {
		for _, pair := range [][2]string{{c.listener, c.route}, {c.route, c.listener}} {
			got, ok := intersect(pair[0], pair[1])
			if got != c.want || ok != (c.want != "") {
				t.Errorf("%s and %s: got %q, %v, want %q", pair[0], pair[1], got, ok, c.want)
			}
		}
	}
}

// TestCoverings holds the chain of covering hostnames to the rule of covering, for any hostnames.
func TestCoverings(t *testing.T) {
	names := []string{"*", "*.com", "*.example.com", "*.a.example.com", "a.example.com", "b.a.example.com", "example.com", "com", "a.b"}
	for _, host := range names {
		chain := coverings(host)
		for _, name := range names {
			if got, want := slices.Contains(chain, name), covers(name, host); got != want {
				t.Errorf("%s in the coverings of %s (%v): %v, want %v", name, host, chain, got, want)
			}
		}
		if !slices.IsSortedFunc(chain, bySpecificity) {
			t.Errorf("the coverings of %s are not in order: %v", host, chain)
		}
	}
}

func TestBySpecificity(t *testing.T) {
	want := "much.longer.example.com a.b x.y *.long.example.com *.example.com *"
	names := strings.Fields(want)
	slices.Reverse(names)
	slices.SortFunc(names, bySpecificity)
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPrefix(t *testing.T) {
	for path, want := range map[string]string{"/": "/", "/a": "/a", "/a/": "/a", "/a/b/": "/a/b", "//": "/"} {
		if got := TrimPathPrefix(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
