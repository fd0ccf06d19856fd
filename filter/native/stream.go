//go:build limpet.native

package main

import (
	"strings"
	"unsafe"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// stream is what the C parts know of a request: struct stream of c/module.h.
type stream struct {
	filter, config, engine unsafe.Pointer
	lines                  [][2]string
	text                   string
}

// The attributes that are read, by Envoy's numbers.
const (
	codeDetails     = 16
	upstreamAddress = 41
	attemptCount    = 53
	routeName       = 61
)

// Whose metadata is read: enum metadata_source of c/abi.h.
const (
	routeSource = 1
	hostSource  = 3
)

// attribute reads one of Envoy's attributes, "" where there is none.
func (s *stream) attribute(id uint32) string {
	if hostAttribute(s, id) == 0 {
		return ""
	}
	return s.text
}

// exchange is a request and its response. It begins with the stream, so the C parts' pointers are to both.
type exchange struct {
	headers
	worker  *worker
	policy  *session.Policy
	session session.Exchange
	end     bool
	waiting bool // for the response
	// pin is the text of the pinned host.
	pin     [session.MaxPin]byte
	pinSize int
}

//export limpet_stream_size
func streamSize() uintptr { return unsafe.Sizeof(exchange{}) }

// What becomes of a request, as c/module.h has it.
const (
	requestPasses    = 0
	requestHasPolicy = 1
	requestRefused   = 2

	http503 = 503
)

// onRequest tells whether the route has a policy, or answers where that is broken.
//
//export limpet_request
func onRequest(x *exchange, w *worker) uint32 {
	x.begin(requestHeaders)
	x.worker, x.pinSize = w, 0
	route := x.attribute(routeName)
	policy, sound := w.engine.Policy(route, x)
	x.policy = policy
	switch {
	case !sound:
		x.countUnlabelled(w.metrics.refused)
		details := policyconfig.RefusedDetails
		hostAnswer(&x.stream, http503, data(details), size(details))
		return requestRefused
	case policy == nil:
		w.engine.Pass(strings.Clone(route), x)
		return requestPasses
	}
	policy.Hold()
	at := now()
	x.wait(at)
	if outcome := x.session.Request(policy, x, at); outcome.Void() {
		x.count(outcome)
	}
	return requestHasPolicy
}

// onComplete comes for requests without a response too.
//
//export limpet_complete
func onComplete(x *exchange) { x.waited() }

//export limpet_release
func onRelease(x *exchange) {
	x.session.Drop()
	x.policy.Release()
}

//export limpet_response
func onResponse(x *exchange, endOfStream uint32) {
	x.begin(responseHeaders)
	x.end = endOfStream != 0
	outcome := x.session.Response(x)
	if outcome != session.None && !outcome.Void() {
		x.count(outcome)
	}
	if x.worker.logging {
		code := outcome.Code()
		x.Publish(policyconfig.OutcomeFilterState, code)
	}
	if x.worker.fields {
		x.session.Publish(outcome, x, x.worker.digest, x.Publish)
	}
	x.watchMemory()
	x.waited()
}

// Pin names the host to Envoy. No header carries it, so no client can.
func (x *exchange) Pin(host string, strict bool) {
	x.pinSize = copy(x.pin[:], host)
	hostPin(&x.stream, data(host), size(host), number(strict))
}

func (x *exchange) Balance() {}

// Steered is never so: no header has to do with which host Envoy takes.
func (x *exchange) Steered() bool { return false }
func (x *exchange) CountSteered() {}
func (x *exchange) CountPassed()  { x.countUnlabelled(x.worker.metrics.passed) }

func (x *exchange) Publish(key, value string) {
	hostState(&x.stream, data(key), size(key), data(value), size(value))
}

// Within tells the load balancer itself. No header carries it, so Envoy needs no filter for that, and no client has a
// say.
func (x *exchange) Within(backend string) {
	name, key := policyconfig.SubsetMetadata, policyconfig.BackendMetadataKey
	hostNote(&x.stream, data(name), size(name), data(key), size(key), data(backend), size(backend))
}

// Lead changes the header that routes match, and has Envoy choose the route again: to a dynamic module it leaves that.
func (x *exchange) Lead(value string) {
	name := x.worker.backendHeader
	if value != "" {
		x.Set(name, value)
	} else if _, steered := x.Get(name); steered {
		x.Remove(name)
	} else {
		return
	}
	hostReroute(&x.stream)
}

func (x *exchange) Backend() string {
	return x.metadata(hostSource, policyconfig.BackendMetadata, policyconfig.BackendMetadataKey)
}

// metadata reads a text of what the route or the host that answers is marked with, "" where there is none.
func (x *exchange) metadata(source uint32, name, key string) string {
	if hostMetadata(&x.stream, source, data(name), size(name), data(key), size(key)) == 0 {
		return ""
	}
	return x.text
}

func (x *exchange) Cluster() string {
	if hostCluster(&x.stream) == 0 {
		return ""
	}
	return x.text
}

func (x *exchange) Policies() (string, bool) {
	text := x.metadata(routeSource, policyconfig.RouteMetadata, policyconfig.RouteField)
	return text, text != ""
}

func (x *exchange) Chosen() (string, bool) {
	host := x.attribute(upstreamAddress)
	if host == "" || host == unsafe.String(&x.pin[0], x.pinSize) {
		return "", false
	}
	return host, true
}

func (x *exchange) CodeDetails() string { return x.attribute(codeDetails) }
func (x *exchange) Attempts() int       { return int(hostNumber(&x.stream, attemptCount)) }
func (x *exchange) HeadersOnly() bool   { return x.end }
func (x *exchange) Prefetch()           {}
func (x *exchange) Now() int64          { return now() }

func appendPin(dst, host []byte) []byte { return append(dst, host...) }
