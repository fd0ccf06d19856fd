package admission

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const smallRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: gw}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /cart}}]
    backendRefs: [{name: cart, port: 8080}]
    sessionPersistence: {absoluteTimeout: 8h, type: Cookie, cookie: {name: cart, lifetimeType: Permanent}}`

// bigRoute has 16 rules of 8 matches, the most that the rules allow, with filters and backends.
func bigRoute() string {
	var b strings.Builder
	b.WriteString("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {rules: [")
	for i := range 16 {
		fmt.Fprintf(&b, "{name: r-%d, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}], matches: [", i)
		for j := range 8 {
			fmt.Fprintf(&b, "{path: {value: /%d/%d}, headers: [{name: a, value: b}]}, ", i, j)
		}
		b.WriteString("], backendRefs: [{name: a, port: 80}, {name: b, port: 80}, {name: c, port: 80}, {name: d, port: 80}]}, ")
	}
	b.WriteString("]}}")
	return b.String()
}

func benchmarkAdmit(b *testing.B, text string) {
	a, base := newAdmitter(b, Gateway17), decodeObject(b, text)
	if errs := a.Admit(kruntime.DeepCopyJSON(base)); len(errs) > 0 { // also compiles the rules
		b.Fatal(errs)
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		obj := kruntime.DeepCopyJSON(base)
		b.StartTimer()
		a.Admit(obj)
	}
}

func BenchmarkSmallRoute(b *testing.B) { benchmarkAdmit(b, smallRoute) }

func BenchmarkBigRoute(b *testing.B) { benchmarkAdmit(b, bigRoute()) }

func BenchmarkSmallRouteParallel(b *testing.B) {
	a, base := newAdmitter(b, Gateway17), decodeObject(b, smallRoute)
	a.Admit(kruntime.DeepCopyJSON(base))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			a.Admit(kruntime.DeepCopyJSON(base))
		}
	})
}

// BenchmarkCompile reads each kind's CRD and compiles its rules, and reports what they keep of the heap.
func BenchmarkCompile(b *testing.B) {
	for _, kind := range kindsRead {
		gk := schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: kind}
		if kind[0] == 'X' {
			gk.Group = "gateway.networking.x-k8s.io"
		}
		b.Run(kind, func(b *testing.B) {
			var kept []*crdDefinition
			before := measureHeap()
			for b.Loop() {
				d := (&crdRelease{folder: "crds/1.7"}).findDefinition(gk)
				for _, v := range d.versions {
					v.rules.all()
					break // one version; the others are the same or nearly so
				}
				kept = append(kept, d)
			}
			b.ReportMetric(float64(measureHeap()-before)/float64(len(kept))/1e6, "MB-kept/op")
			runtime.KeepAlive(kept)
		})
	}
}

func measureHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
