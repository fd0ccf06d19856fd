package compiler

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often: with the usual heap a quarter of these tests' time went there.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
