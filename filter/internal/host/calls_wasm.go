//go:build tinygo.wasm

package host

import (
	"unsafe"

	"github.com/limpet-proxy/limpet/filter/internal/session"
)

// These are the host calls that the plugin makes, as proxy-wasm ABI 0.2.1 names them. Each returns a status, 0 for
// success. What a call returns besides comes through result, for a variable that the host writes to would be allocated
// again for every call.

//go:wasmimport env proxy_log
func proxyLog(level uint32, text unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(buffer, start, length uint32, data, size unsafe.Pointer) uint32

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(headers uint32, name unsafe.Pointer, nameSize uint32, data, size unsafe.Pointer) uint32

//
//go:wasmimport env proxy_add_header_map_value
func proxyAddHeaderMapValue(
	headers uint32,
	name unsafe.Pointer,
	nameSize uint32,
	value unsafe.Pointer,
	size uint32,
) uint32

//
//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(
	headers uint32,
	name unsafe.Pointer,
	nameSize uint32,
	value unsafe.Pointer,
	size uint32,
) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(headers uint32, name unsafe.Pointer, nameSize uint32) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(headers uint32, data, size unsafe.Pointer) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path unsafe.Pointer, pathSize uint32, data, size unsafe.Pointer) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(path unsafe.Pointer, pathSize uint32, value unsafe.Pointer, size uint32) uint32

//
//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(
	status uint32,
	details unsafe.Pointer,
	detailsSize uint32,
	body unsafe.Pointer,
	bodySize uint32,
	headers unsafe.Pointer,
	headersSize uint32,
	grpcStatus int32,
) uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name unsafe.Pointer, nameSize uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, by int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key unsafe.Pointer, keySize uint32, data, size, cas unsafe.Pointer) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key unsafe.Pointer, keySize uint32, value unsafe.Pointer, size, cas uint32) uint32

const statusOK = 0

// result is where the host writes what a call returns: bytes that it asked allocate for, or a number.
var result struct {
	data unsafe.Pointer
	size uint32
	id   uint32
}

// returnedText returns the bytes that the last call returned, if its status is statusOK.
func returnedText(status uint32) (string, bool) {
	if status != statusOK {
		return "", false
	}
	return unsafe.String((*byte)(result.data), result.size), true
}

func address(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

func logLine(level session.LogLevel, s string) { proxyLog(uint32(level), address(s), uint32(len(s))) }

func logCritical(s string) { logLine(session.LogCritical, s) }

const pluginConfiguration = 7

// readConfiguration reads the plugin configuration; "" if there is none.
func readConfiguration(size uint32) string {
	s, _ := returnedText(
		proxyGetBufferBytes(pluginConfiguration, 0, size, unsafe.Pointer(&result.data), unsafe.Pointer(&result.size)),
	)
	return s
}

// property reads a property. The parts of its path are joined with zero bytes.
func property(path string) (string, bool) {
	return returnedText(
		proxyGetProperty(address(path), uint32(len(path)), unsafe.Pointer(&result.data), unsafe.Pointer(&result.size)),
	)
}

// setProperty sets one. Access logs show "-" without it, so a failure needs no handling.
func setProperty(path, value string) {
	proxySetProperty(address(path), uint32(len(path)), address(value), uint32(len(value)))
}

// sharedData reads what VMs of one vm_id share, and the number by which setSharedData replaces just this.
func sharedData(key string) (text string, cas uint32, ok bool) {
	text, ok = returnedText(proxyGetSharedData(address(key), uint32(len(key)),
		unsafe.Pointer(&result.data), unsafe.Pointer(&result.size), unsafe.Pointer(&result.id)))
	return text, result.id, ok
}

// setSharedData writes it, with cas only if it is still what sharedData read; it tells whether it did.
func setSharedData(key, value string, cas uint32) bool {
	return proxySetSharedData(address(key), uint32(len(key)), address(value), uint32(len(value)), cas) == statusOK
}

// answer answers a request in the place of a backend.
func answer(status uint32, details string) {
	const noGRPC = -1 // Envoy makes one of the status
	proxySendLocalResponse(status, address(details), uint32(len(details)), nil, 0, nil, 0, noGRPC)
}

const (
	counter = 0
	gauge   = 1
)

// define makes a metric of that kind and name known and returns its number.
func define(kind uint32, name string) uint32 {
	proxyDefineMetric(kind, address(name), uint32(len(name)), unsafe.Pointer(&result.id))
	return result.id
}

func increment(id uint32, by int64) { proxyIncrementMetric(id, by) }
