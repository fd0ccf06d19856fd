//go:build limpet.native

package main

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// configuration is what all workers share: it does not change.
type configuration struct {
	config  *policyconfig.Config
	keys    session.Keys
	metrics metrics
}

// worker is what one worker has of a configuration.
type worker struct {
	engine  *session.Engine
	metrics *metrics
	tallies tallies
	logging bool
	fields  bool // of the access log
	digest  bool // with the fields
	// backendHeader carries the backend of a pinned session, for routes that match it.
	backendHeader string
	// reported is the last value of the gauge that this worker gave it.
	reported uint64
}

// read refuses a bad configuration with every error in the log; Envoy then keeps the one before.
//
//export limpet_read
func read(text *byte, length uintptr, envoy unsafe.Pointer) *configuration {
	// The configuration keeps pieces of its text, and the text is Envoy's.
	config, keys, errs := session.Read(strings.Clone(unsafe.String(text, length)), getenv)
	if refused(errs) {
		return nil
	}
	metrics := defineMetrics(envoy, config.Policies)
	if fingerprint := keys.Fingerprint(); fingerprint != 0 {
		hostShow(envoy, metrics.keys, uint64(fingerprint))
	}
	return &configuration{config, keys, metrics}
}

//export limpet_worker
func newWorker(c *configuration) *worker {
	engine, err := session.New(c.config, c.keys, session.Proxy{
		Random: random, AppendPin: appendPin, Lasting: lasting, Own: own, Free: give, Refuse: logRefused, Log: logLine,
	})
	if err != nil {
		refused([]error{err})
		return nil
	}
	return &worker{
		engine: engine, metrics: &c.metrics,
		logging: c.config.AccessLog, fields: c.config.AccessLogFields, digest: c.config.SessionDigest,
		backendHeader: policyconfig.BackendHeader(c.config.PinHeader),
	}
}

// logRefused says why requests of a route get 503.
func logRefused(route string, errs []error) {
	for _, e := range errs {
		logCritical("limpet: policies of route " + strconv.Quote(route) + ": " + e.Error())
	}
}

func refused(errs []error) bool {
	for _, e := range errs {
		logCritical("limpet: filter configuration: " + e.Error())
	}
	return len(errs) > 0
}
