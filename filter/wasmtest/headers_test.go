package wasmtest

import (
	"slices"
	"testing"
)

func TestHeaders(t *testing.T) {
	start := [][2]string{{":path", "/"}, {":method", "GET"}, {"Cookie", "a=1"}, {"x-one", "1"}, {"cookie", "b=2"}}
	for name, c := range map[string]struct {
		change func(m *headers)
		want   [][2]string
	}{
		"fill makes names lower-case and keeps lines apart": {
			func(*headers) {},
			[][2]string{{":path", "/"}, {":method", "GET"}, {"cookie", "a=1"}, {"x-one", "1"}, {"cookie", "b=2"}},
		},
		"remove takes every line": {
			func(m *headers) { m.remove("cookie") },
			[][2]string{{":path", "/"}, {":method", "GET"}, {"x-one", "1"}},
		},
		"remove of a missing name": {
			func(m *headers) { m.remove("x-two") },
			[][2]string{{":path", "/"}, {":method", "GET"}, {"cookie", "a=1"}, {"x-one", "1"}, {"cookie", "b=2"}},
		},
		"replace leaves one line, last": {
			func(m *headers) { m.replace("cookie", "c=3") },
			[][2]string{{":path", "/"}, {":method", "GET"}, {"x-one", "1"}, {"cookie", "c=3"}},
		},
		"replace of a pseudo-header puts it behind the others": {
			func(m *headers) { m.replace(":path", "/x") },
			[][2]string{{":method", "GET"}, {":path", "/x"}, {"cookie", "a=1"}, {"x-one", "1"}, {"cookie", "b=2"}},
		},
		"add keeps what is there": {
			func(m *headers) { m.add("x-one", "") },
			[][2]string{{":path", "/"}, {":method", "GET"}, {"cookie", "a=1"}, {"x-one", "1"}, {"cookie", "b=2"}, {"x-one", ""}},
		},
	} {
		var m headers
		m.fill(start)
		c.change(&m)
		if !slices.Equal(m.out(), c.want) {
			t.Errorf("%s: got %v, want %v", name, m.out(), c.want)
		}
	}
	if start[2][0] != "Cookie" {
		t.Error("the caller's headers were changed")
	}
}

func TestFirst(t *testing.T) {
	var m headers
	m.fill([][2]string{{"Cookie", "a=1"}, {"cookie", "b=2"}, {"x-empty", ""}})
	for name, want := range map[string]string{"cookie": "a=1", "x-empty": ""} {
		if got, ok := m.first(name); !ok || got != want {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
	if got, ok := m.first("x-none"); ok {
		t.Errorf("a missing header has the value %q", got)
	}
}

func TestOutIsClosed(t *testing.T) {
	var m headers
	m.fill([][2]string{{"a", "1"}})
	_ = append(m.out(), [2]string{"b", "2"})
	m.add("c", "3")
	_ = append(m.out(), [2]string{"d", "4"})
	if want := [][2]string{{"a", "1"}, {"c", "3"}}; !slices.Equal(m.lines, want) {
		t.Errorf("got %v, want %v", m.lines, want)
	}
}
