package wasmtest

import (
	"bytes"
	"strings"
)

// Level is how grave a log line is, numbered as in proxy-wasm ABI 0.2.
type Level uint32

// The levels, least grave first.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
	LevelCritical
	levels
)

// String gives the name that Envoy's log uses.
func (l Level) String() string {
	names := [levels]string{"trace", "debug", "info", "warning", "error", "critical"}
	if l < levels {
		return names[l]
	}
	return "unknown"
}

// Log is one line that the guest logged.
type Log struct {
	Level Level
	Text  string
}

// stdio turns what the guest writes to a standard stream into log lines, as Envoy does: one line for each write,
// without the line end.
type stdio struct {
	vm    *VM
	level Level
}

// Write never fails and always takes all of b.
func (w stdio) Write(b []byte) (int, error) {
	w.vm.log(w.level, string(bytes.TrimSuffix(b, []byte("\n"))))
	return len(b), nil
}

// logText joins log lines for an error message, each with its level.
func logText(logs []Log) string {
	var text strings.Builder
	for _, line := range logs {
		text.WriteString("\n  " + line.Level.String() + ": " + line.Text)
	}
	return text.String()
}
