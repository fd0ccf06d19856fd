package precedence

import (
	"testing"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// BenchmarkMerge merges the blocks of a usual path: a class's limits, a Gateway's defaults, a route's policy and a
// rule's own words.
func BenchmarkMerge(b *testing.B) {
	hour, name := v1alpha1.Duration("1h"), v1alpha1.SessionName("cart")
	inline := v1alpha1.SessionSettings{SessionName: &name, AbsoluteTimeout: &hour}
	var blocks []SettingsBlock
	for _, level := range []Level{1, 8, 10, 23} {
		blocks = append(blocks, SettingsBlock{Level: level, Path: "spec", Settings: &inline})
	}
	b.ReportAllocs()
	for b.Loop() {
		if e := Merge(blocks); !e.On {
			b.Fatal("off")
		}
	}
}

// BenchmarkCheck checks a block with every field of a cookie's session.
func BenchmarkCheck(b *testing.B) {
	p := everyFieldPolicy(b)
	block := PolicyBlocks(object.Origin{}, ListTargets("shop", &p.Spec)[0].Target, &p.Spec)[0]
	b.ReportAllocs()
	for b.Loop() {
		if errs := CheckBlock(block); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
