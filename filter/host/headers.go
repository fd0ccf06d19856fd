package host

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

// requestHeaders and responseHeaders show the proxy's header maps to package session. A failing host call
// means a missing header or a stream that is going away; neither leaves anything to decide, so errors
// read as absence and writes are not retried.

type requestHeaders struct{}

func (requestHeaders) Get(name string) (string, bool) {
	v, err := proxywasm.GetHttpRequestHeader(name)
	return v, err == nil
}

func (requestHeaders) All() [][2]string {
	h, _ := proxywasm.GetHttpRequestHeaders()
	return h
}

func (requestHeaders) Set(name, value string) { _ = proxywasm.ReplaceHttpRequestHeader(name, value) }
func (requestHeaders) Add(name, value string) { _ = proxywasm.AddHttpRequestHeader(name, value) }
func (requestHeaders) Remove(name string)     { _ = proxywasm.RemoveHttpRequestHeader(name) }

type responseHeaders struct{ end bool }

func (responseHeaders) Get(name string) (string, bool) {
	v, err := proxywasm.GetHttpResponseHeader(name)
	return v, err == nil
}

func (responseHeaders) All() [][2]string {
	h, _ := proxywasm.GetHttpResponseHeaders()
	return h
}

func (responseHeaders) Set(name, value string) { _ = proxywasm.ReplaceHttpResponseHeader(name, value) }
func (responseHeaders) Add(name, value string) { _ = proxywasm.AddHttpResponseHeader(name, value) }
func (responseHeaders) Remove(name string)     { _ = proxywasm.RemoveHttpResponseHeader(name) }

func (responseHeaders) CodeDetails() string {
	v, err := proxywasm.GetProperty(codeDetails)
	if err != nil {
		return ""
	}
	return string(v)
}

func (h responseHeaders) HeadersOnly() bool { return h.end }
