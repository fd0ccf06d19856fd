package wasmtest

// status is the answer of a host call, numbered as in proxy-wasm ABI 0.2 (WasmResult).
type status uint32

const (
	statusOK            status = 0
	statusNotFound      status = 1
	statusBadArgument   status = 2
	statusInvalidMemory status = 6
	statusCASMismatch   status = 8
)
