package behaviour

import (
	"encoding/base64"
	"fmt"
	"testing"
)

// TestBadTokensCannotFillTheCache sends 100,000 different forged tokens to the shipped module: none pins, the linear
// memory stays as it was, and sessions go on. In filter/internal/session TestForgeriesNeverEnterTheCache looks into the cache
// itself.
func TestBadTokensCannotFillTheCache(t *testing.T) {
	vm := shippedVM(t)
	good := mintMany(t, vm, 100)
	forged := make([]string, 120_000)
	for i := range forged {
		end := fmt.Sprintf("%024d", uint64(i)*0x9e3779b97f4a7c15)
		raw, err := base64.RawURLEncoding.DecodeString(good[i%len(good)])
		noError(t, err)
		forged[i] = base64.RawURLEncoding.EncodeToString(append(raw[:len(raw)-len(end)], end...))
	}
	want(t, "forged tokens that pinned while warming up", verifyAll(t, vm, forged[:20_000], 20_000), 0)
	warm := vm.MemoryBytes()
	want(t, "forged tokens that pinned", verifyAll(t, vm, forged[20_000:], 100_000), 0)
	want(t, "linear memory", vm.MemoryBytes(), warm)
	want(t, "forged tokens counted", vm.Counters()["limpet_sessions.policy.p.outcome.bad-signature"], 120_000)
	want(t, "good tokens that pinned", verifyAll(t, vm, good, 1_000), 1_000)
}
