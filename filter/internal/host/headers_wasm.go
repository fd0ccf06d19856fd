//go:build tinygo.wasm

package host

import (
	"encoding/base64"
	"time"
	"unsafe"

	"github.com/limpet-proxy/limpet/filter/internal/session"
)

// headerMap shows one of the proxy's header maps to package session. A failing host call means a missing header or a
// stream that is going away; neither leaves anything to decide, so errors read as absence and writes are not
// retried. What it returns is good until the callback ends.
type headerMap uint32

const (
	requestHeaders  headerMap = 0
	responseHeaders headerMap = 2
)

func (m headerMap) Get(name string) (string, bool) {
	return returnedText(proxyGetHeaderMapValue(uint32(m), address(name), uint32(len(name)),
		unsafe.Pointer(&result.data), unsafe.Pointer(&result.size)))
}

func (m headerMap) Set(name, value string) {
	proxyReplaceHeaderMapValue(uint32(m), address(name), uint32(len(name)), address(value), uint32(len(value)))
}

func (m headerMap) Add(name, value string) {
	proxyAddHeaderMapValue(uint32(m), address(name), uint32(len(name)), address(value), uint32(len(value)))
}

func (m headerMap) Remove(name string) {
	proxyRemoveHeaderMapValue(uint32(m), address(name), uint32(len(name)))
}

func (m headerMap) All() [][2]string {
	packed, ok := returnedText(
		proxyGetHeaderMapPairs(uint32(m), unsafe.Pointer(&result.data), unsafe.Pointer(&result.size)),
	)
	if !ok || len(packed) < 4 {
		return nil
	}
	unpacked = unpack(packed, unpacked[:0])
	return unpacked
}

// unpacked is where All puts what it returns.
var unpacked [][2]string

// unpack appends a header map as the host gives it: how many lines there are, the sizes of each name and value, and
// then all of these, each with a zero byte behind it. Numbers have four bytes, little end first.
func unpack(packed string, lines [][2]string) [][2]string {
	number := func(i int) int {
		return int(packed[4*i]) | int(packed[4*i+1])<<8 | int(packed[4*i+2])<<16 | int(packed[4*i+3])<<24
	}
	count := number(0)
	at := 4 + 8*count
	for i := range count {
		var line [2]string
		for j := range line {
			size := number(1 + 2*i + j)
			line[j] = packed[at : at+size]
			at += size + 1
		}
		lines = append(lines, line)
	}
	return lines
}

// request is the request of the callback that runs. Its host is pinned through the header that Envoy's stateful_session
// filter reads: base64 of "ip:port".
type request struct {
	headerMap
	plugin *plugin
}

func (r *request) Pin(host string, _ bool) { r.Set(r.plugin.pinHeader, host) }

// Within is read by Envoy's header_to_metadata filter, for the subset of the cluster's hosts.
func (r *request) Within(backend string) { r.Set(r.plugin.backendHeader, backend) }

// Lead changes the header that routes match. Envoy forgets the route by itself whenever a plugin of this ABI changes a
// header.
func (r *request) Lead(value string) {
	if value == "" {
		r.Remove(r.plugin.backendHeader)
	} else {
		r.Set(r.plugin.backendHeader, value)
	}
}

// Balance removes the header. The fence before limpet does so too, but another control plane may leave it out.
func (r *request) Balance() { r.Remove(r.plugin.pinHeader) }

// Steered takes away what the fence before limpet would have.
func (r *request) Steered() bool {
	_, steered := r.Get(r.plugin.pinHeader)
	if steered {
		r.Remove(r.plugin.pinHeader)
	}
	return steered
}

func (r *request) CountSteered() { r.plugin.metrics.countSteered() }
func (r *request) CountPassed()  { r.plugin.metrics.countPassed() }

func (*request) Now() int64 { return time.Now().Unix() }

func (*request) Publish(key, value string) { setProperty(key, value) }

// The request and the response of the callback that runs.
var (
	incoming = request{headerMap: requestHeaders}
	response = reply{headerMap: responseHeaders}
)

type reply struct {
	headerMap
	plugin *plugin
	end    bool
	// fetched are all lines, once they have been read.
	fetched [][2]string
	// text is the buffer for the host that the pin header names.
	text [session.MaxPin]byte
}

// Chosen reads the pin header that stateful_session wrote, and removes it: the fence around limpet does so too, but a
// filter between the two shall not see it either.
func (r *reply) Chosen() (string, bool) {
	pin, ok := r.Get(r.plugin.pinHeader)
	if !ok {
		return "", false
	}
	r.Remove(r.plugin.pinHeader)
	pin = pin[:min(len(pin), len(r.text)/3*4)] // no address is as long as what is cut, but the path of a Unix socket
	n, err := pinBase64.Decode(r.text[:], unsafe.Slice(unsafe.StringData(pin), len(pin)))
	if err != nil {
		return "", true
	}
	return unsafe.String(&r.text[0], n), true
}

// pinBase64 is how Envoy writes a pin.
var pinBase64 = base64.StdEncoding.Strict()

func appendPin(dst, host []byte) []byte { return base64.StdEncoding.AppendEncode(dst, host) }

func (r *reply) Prefetch() { r.fetched = r.headerMap.All() }

func (r *reply) Get(name string) (string, bool) {
	if r.fetched == nil {
		return r.headerMap.Get(name)
	}
	for _, line := range r.fetched {
		if line[0] == name {
			return line[1], true
		}
	}
	return "", false
}

func (r *reply) All() [][2]string {
	if r.fetched == nil {
		return r.headerMap.All()
	}
	return r.fetched
}

func (*reply) Backend() string {
	tag, _ := property(backendTag)
	return tag
}

func (*reply) CodeDetails() string {
	details, _ := property(codeDetails)
	return details
}

// Attempts reads a number, whose first byte is enough.
func (*reply) Attempts() int {
	if n, ok := property(attempts); ok && n != "" {
		return int(n[0])
	}
	return 0
}

func (*reply) Cluster() string { return cluster() }

func (r *reply) CountWarning(p *session.Policy, w session.Warning) {
	r.plugin.metrics.countWarning(p, w)
}

func (r *reply) HeadersOnly() bool { return r.end }

func (*reply) Now() int64 { return time.Now().Unix() }
