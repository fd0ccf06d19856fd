package policyconfig

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/processor"
)

// manyPolicies is a configuration as the compiler writes it, of about 250 bytes a policy without white space.
func manyPolicies(n int) string {
	policies := make([]string, n)
	for i := range policies {
		policies[i] = fmt.Sprintf(`{"name":"default/app-%d/rule/0","scope":"HTTPRoute/default/app-%d/rule/0","routes":["httproute/default/app-%d/rule/0"],`+
			`"sessionName":"session-%d","absoluteTimeout":"8h","idleTimeout":"20m","cookie":{"path":"/app/%d","sameSite":"Lax"}}`, i, i, i, i, i)
	}
	return `{"version":"limpet.dev/v1","policies":[` + strings.Join(policies, ",") + `]}`
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		text := manyPolicies(n)
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := Parse(text); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

func BenchmarkMarshal(b *testing.B) {
	c, errs := Parse(manyPolicies(100))
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(c); err != nil {
			b.Fatal(err)
		}
	}
}

// TestParseScales: the processor's time grows with the number of policies, not with its square: fifty times as many take less than five
// hundred times as long.
func TestParseScales(t *testing.T) {
	used := func(text string) time.Duration {
		before := processor.Time()
		for range 5 {
			if _, errs := Parse(text); len(errs) > 0 {
				t.Fatal(errs)
			}
		}
		return processor.Time() - before
	}
	few, many := manyPolicies(200), manyPolicies(10_000)
	used(many)
	if once, more := used(few), used(many); more > 500*max(once, time.Millisecond) {
		t.Errorf("10000 policies take %v, and 200 take %v", more, once)
	}
}
