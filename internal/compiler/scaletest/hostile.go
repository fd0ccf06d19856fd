package scaletest

import (
	"fmt"
	"strings"
)

// hostileGateway is a tenant's Gateway, evil/crowd, with some listeners.
func hostileGateway(listeners int) string {
	var list []string
	for i := range listeners {
		list = append(list, fmt.Sprintf("{name: l%d, protocol: HTTP, port: %d}", i, 8000+i))
	}
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: crowd, namespace: evil, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {gatewayClassName: limpet, listeners: [%s]}
`, strings.Join(list, ", "))
}

// hostileRoute is a route of that tenant's.
func hostileRoute(name, spec string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: evil, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{name: crowd}], %s}
`, name, spec)
}

// MakeWideRoutes makes wildcard hostnames with 64 paths of a kilobyte, and hosts below each: for 250 of them, on each
// listener 16 MiB of copies for each wildcard.
func MakeWideRoutes(listeners, wide, hosts int) string {
	var text strings.Builder
	text.WriteString(hostileGateway(listeners))
	paths := make([]string, 64)
	for i := range paths {
		paths[i] = fmt.Sprintf("{path: {value: /%d%s}}", i, strings.Repeat("x", 1000))
	}
	for w := range wide {
		text.WriteString(hostileRoute(fmt.Sprintf("wide-%d", w),
			fmt.Sprintf("hostnames: ['*.a%d.example'], rules: [{matches: [%s]}]", w, strings.Join(paths, ", "))))
		for h := 0; h < hosts; h += 16 {
			var names []string
			for n := h; n < min(h+16, hosts); n++ {
				names = append(names, fmt.Sprintf("h%d.a%d.example", n, w))
			}
			text.WriteString(hostileRoute(fmt.Sprintf("host-%d-%d", w, h), "hostnames: ["+strings.Join(names, ", ")+"]"))
		}
	}
	return text.String()
}

// MakeBigRoute makes a route with hostnames, and matches with 16 headers of 4 kB, on many listeners: of 1.29 MB for 20
// matches.
func MakeBigRoute(listeners, hostnames, matches int) string {
	return hostileGateway(listeners) + bigRoute(hostnames, matches)
}

func bigRoute(hostnames, matches int) string {
	headers := make([]string, 16)
	for i := range headers {
		headers[i] = fmt.Sprintf("{name: h%d, value: %s}", i, strings.Repeat("v", 4000))
	}
	names, each := make([]string, hostnames), make([]string, matches)
	for i := range names {
		names[i] = fmt.Sprintf("h%d.example", i)
	}
	for i := range each {
		each[i] = fmt.Sprintf("{path: {value: /%d}, headers: [%s]}", i, strings.Join(headers, ", "))
	}
	return hostileRoute(
		"big",
		fmt.Sprintf("hostnames: [%s], rules: [{matches: [%s]}]", strings.Join(names, ", "), strings.Join(each, ", ")),
	)
}

// MakeCrowd makes both, on 48 listeners: 378 routes that would come to gigabytes.
func MakeCrowd() string { return MakeWideRoutes(48, 24, 250) + bigRoute(16, 20) }
