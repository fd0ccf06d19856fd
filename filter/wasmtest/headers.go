package wasmtest

import "strings"

// headers is one header map of a stream. The guest may change it only while it is open; afterwards only the log
// callback may read it, as in Envoy, which takes the map away from a filter that let the stream continue.
type headers struct {
	lines [][2]string
	open  bool
}

// fill takes a copy of h with lower-case names and opens the map.
func (m *headers) fill(h [][2]string) {
	m.lines = make([][2]string, len(h), len(h)+4)
	for i, line := range h {
		m.lines[i] = [2]string{lower(line[0]), line[1]}
	}
	m.open = true
}

// first returns the value of the first line with this name: all that Envoy shows of a repeated header.
func (m *headers) first(name string) (string, bool) {
	for i := range m.lines {
		if m.lines[i][0] == name {
			return m.lines[i][1], true
		}
	}
	return "", false
}

// remove drops every line with this name.
func (m *headers) remove(name string) {
	kept := m.lines[:0]
	for _, line := range m.lines {
		if line[0] != name {
			kept = append(kept, line)
		}
	}
	m.lines = kept
}

// add puts a line last. A pseudo-header goes behind the other pseudo-headers instead, for they always come first.
func (m *headers) add(name, value string) {
	m.lines = append(m.lines, [2]string{name, value})
	if !strings.HasPrefix(name, ":") {
		return
	}
	at := 0
	for at < len(m.lines)-1 && strings.HasPrefix(m.lines[at][0], ":") {
		at++
	}
	copy(m.lines[at+1:], m.lines[at:])
	m.lines[at] = [2]string{name, value}
}

// replace leaves one line with this name, in the place of a new one.
func (m *headers) replace(name, value string) {
	m.remove(name)
	m.add(name, value)
}

// out is what the caller gets: later changes to it cannot reach into the map's spare capacity.
func (m *headers) out() [][2]string {
	return m.lines[:len(m.lines):len(m.lines)]
}

// lower returns name with ASCII capitals made small. It allocates only where there are any.
func lower(name string) string {
	for i := 0; i < len(name); i++ {
		if 'A' <= name[i] && name[i] <= 'Z' {
			return lowerCopy(name)
		}
	}
	return name
}

func lowerCopy(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
