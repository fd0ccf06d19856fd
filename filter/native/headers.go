//go:build limpet.native

package main

// headerType is which header map of a stream.
type headerType uint32

const (
	requestHeaders  headerType = 0
	responseHeaders headerType = 2
)

// headers shows one of a stream's header maps to package session. Envoy's strings are good until a header is changed,
// so a change has the lines read again when they are next asked for.
type headers struct {
	stream
	kind headerType
	read bool
}

func (h *headers) begin(kind headerType) { h.kind, h.read = kind, false }

func (h *headers) All() [][2]string {
	if !h.read {
		hostHeaders(&h.stream, h.kind)
		h.read = true
	}
	return h.lines
}

func (h *headers) Get(name string) (string, bool) {
	all := h.All()
	for i := range all {
		if line := &all[i]; line[0] == name {
			return line[1], true
		}
	}
	return "", false
}

// Set can't set an empty value, for to Envoy's ABI that is to remove the header. An empty list stands in for it.
func (h *headers) Set(name, value string) {
	if value == "" {
		value = ","
	}
	h.put(name, value)
}

func (h *headers) put(name, value string) {
	h.read = false
	hostSet(&h.stream, h.kind, data(name), size(name), data(value), size(value))
}

func (h *headers) Add(name, value string) {
	h.read = false
	hostAdd(&h.stream, h.kind, data(name), size(name), data(value), size(value))
}

// Remove sets a value without bytes, which is how Envoy's ABI removes a header.
func (h *headers) Remove(name string) { h.put(name, "") }
