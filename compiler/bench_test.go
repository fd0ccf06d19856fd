package compiler

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// many gives files with so many routes, each with a hostname, a policy, a Service and an EndpointSlice of its own.
func many(routes int) []Source {
	sources := []Source{{Name: "gateway.yaml", Data: []byte(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/compiler}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}
`)}}
	const perFile = 500
	for first := 0; first < routes; first += perFile {
		var b strings.Builder
		for i := first; i < min(first+perFile, routes); i++ {
			fmt.Fprintf(&b, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: app-%[1]d
  namespace: default
spec:
  parentRefs:
  - name: web
  hostnames:
  - app-%[1]d.example.com
  rules:
  - matches:
    - path:
        type: PathPrefix
        value: /cart
    backendRefs:
    - name: app-%[1]d
      port: 80
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata:
  name: app-%[1]d
  namespace: default
spec:
  targetRefs:
  - group: gateway.networking.k8s.io
    kind: HTTPRoute
    name: app-%[1]d
  sessionName: cart
  absoluteTimeout: 8h
  idleTimeout: 20m
---
apiVersion: v1
kind: Service
metadata:
  name: app-%[1]d
  namespace: default
spec:
  ports:
  - name: http
    port: 80
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: app-%[1]d-1
  namespace: default
  labels:
    kubernetes.io/service-name: app-%[1]d
addressType: IPv4
ports:
- name: http
  port: 8080
endpoints:
- addresses: [10.0.0.1]
- addresses: [10.0.0.2]
`, i)
		}
		sources = append(sources, Source{Name: fmt.Sprintf("apps-%d.yaml", first), Data: []byte(b.String())})
	}
	return sources
}

// BenchmarkCompile compiles many routes; the time for one should not grow with their number.
func BenchmarkCompile(b *testing.B) {
	for _, routes := range []int{1000, 3000, 10_000} {
		b.Run(fmt.Sprint(routes), func(b *testing.B) {
			sources := many(routes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(sources, Options{WasmPath: "w"}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(routes), "µs/route")
		})
	}
}

// BenchmarkRecompile compiles many routes again after the deadline of one policy has changed, with a cache.
func BenchmarkRecompile(b *testing.B) {
	for _, routes := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(routes), func(b *testing.B) {
			sources := many(routes)
			o := Options{WasmPath: "w", Cache: NewCache()}
			last := &sources[len(sources)-1]
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				last.Data = bytes.Replace(last.Data, fmt.Appendf(nil, "%dh", 8+i%2), fmt.Appendf(nil, "%dh", 9-i%2), 1)
				if i == 0 {
					if _, err := Compile(sources, o); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := Compile(sources, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
