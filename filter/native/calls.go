//go:build limpet.native

package main

import (
	"strings"
	"unsafe"

	"github.com/limpet-proxy/limpet/filter/internal/session"
)

// These are the functions of c/calls.c. What Envoy returns they leave in the stream.

//export limpet_headers
func hostHeaders(s *stream, kind headerType)

//export limpet_attribute
func hostAttribute(s *stream, attribute uint32) uint32

//export limpet_number
func hostNumber(s *stream, attribute uint32) uint64

//export limpet_cluster
func hostCluster(s *stream) uint32

//
//export limpet_metadata
func hostMetadata(
	s *stream,
	source uint32,
	name unsafe.Pointer,
	nameSize uintptr,
	key unsafe.Pointer,
	keySize uintptr,
) uint32

//
//export limpet_note
func hostNote(
	s *stream,
	name unsafe.Pointer,
	nameSize uintptr,
	key unsafe.Pointer,
	keySize uintptr,
	value unsafe.Pointer,
	size uintptr,
)

//export limpet_reroute
func hostReroute(s *stream)

//export limpet_answer
func hostAnswer(s *stream, status uint32, details unsafe.Pointer, size uintptr)

//export limpet_set
func hostSet(s *stream, kind headerType, name unsafe.Pointer, nameSize uintptr, value unsafe.Pointer, size uintptr)

//export limpet_add
func hostAdd(s *stream, kind headerType, name unsafe.Pointer, nameSize uintptr, value unsafe.Pointer, size uintptr)

//export limpet_pin
func hostPin(s *stream, host unsafe.Pointer, size uintptr, strict uint32) uint32

//export limpet_state
func hostState(s *stream, key unsafe.Pointer, keySize uintptr, value unsafe.Pointer, size uintptr)

//export limpet_log
func hostLog(level session.LogLevel, text unsafe.Pointer, size uintptr)

//export limpet_counter
func hostCounter(config unsafe.Pointer, name unsafe.Pointer, size uintptr) metric

//
//export limpet_labelled
func hostLabelled(
	config unsafe.Pointer,
	name unsafe.Pointer,
	size uintptr,
	label unsafe.Pointer,
	labelSize uintptr,
) metric

// hostKeep has the labelled counters of a family go on that were there before.
//
//export counters_keep
func hostKeep(f family, config unsafe.Pointer, id metric)

//export limpet_gauge
func hostGauge(config unsafe.Pointer, name unsafe.Pointer, size uintptr) metric

//export limpet_count
func hostCount(s *stream, id metric)

//
//export limpet_count_labelled
func hostCountLabelled(
	s *stream,
	id metric,
	policy unsafe.Pointer,
	size uintptr,
	outcome unsafe.Pointer,
	outcomeSize uintptr,
	by uint64,
)

//export limpet_remember
func hostRemember(f family, policy unsafe.Pointer, size uintptr, value unsafe.Pointer, valueSize uintptr)

//export limpet_set_gauge
func hostSetGauge(s *stream, id metric, value uint64)

// hostShow sets a gauge with the configuration.
//
//export limpet_show
func hostShow(config unsafe.Pointer, id metric, value uint64)

//export limpet_memory
func hostMemory() uint64

//export limpet_now
func now() int64

//export limpet_random
func hostRandom(data unsafe.Pointer, size uintptr)

//export limpet_getenv
func hostGetenv(name unsafe.Pointer, size uintptr, valueSize *uintptr) *byte

func data(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

func size(s string) uintptr { return uintptr(len(s)) }

func random(b []byte) { hostRandom(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))) }

// getenv reads Envoy's environment.
func getenv(name string) string {
	var n uintptr
	value := hostGetenv(data(name), size(name), &n)
	if value == nil {
		return ""
	}
	return strings.Clone(unsafe.String(value, n))
}

func logLine(level session.LogLevel, text string) { hostLog(level, data(text), size(text)) }

func logCritical(text string) { logLine(session.LogCritical, text) }
