//go:build tinygo.wasm

package host

import (
	"time"
	"unsafe"
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
	packed, ok := returnedText(proxyGetHeaderMapPairs(uint32(m), unsafe.Pointer(&result.data), unsafe.Pointer(&result.size)))
	if !ok || len(packed) < 4 {
		return nil
	}
	unpacked = unpack(packed, unpacked[:0])
	return unpacked
}

// unpacked is where All puts what it returns.
var unpacked [][2]string

// unpack appends a header map as the host gives it: how many lines there are, the sizes of each name and value, and then
// all of these, each with a zero byte behind it. Numbers have four bytes, little end first.
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

// request is the request of the callback that runs.
var request = requestHeaders

// response is the response of the callback that runs.
var response = reply{headerMap: responseHeaders}

type reply struct {
	headerMap
	end bool
	// fetched are all lines, once they have been read.
	fetched [][2]string
}

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

func (*reply) CodeDetails() string {
	details, _ := property(codeDetails)
	return details
}

func (r *reply) HeadersOnly() bool { return r.end }

func (*reply) Now() int64 { return time.Now().Unix() }
