package policyconfig

import (
	"fmt"
	"strings"
	"testing"
	"time"
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

// Time must grow with the number of policies, not with its square: fifty times as many take less than five
// hundred times as long.
func TestParseScales(t *testing.T) {
	few, many := manyPolicies(200), manyPolicies(10_000)
	best := func(text string) time.Duration {
		least := time.Hour
		for range 5 {
			start := time.Now()
			if _, errs := Parse(text); len(errs) > 0 {
				t.Fatal(errs)
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	if ratio := best(many) / best(few); ratio > 500 {
		t.Errorf("10000 policies take %d times as long as 200", ratio)
	}
}
