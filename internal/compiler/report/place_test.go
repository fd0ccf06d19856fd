package report_test

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// TestPlaces holds which paths lead into an item of a section, whatever is below it, and what is no section.
func TestPlaces(t *testing.T) {
	at := func(s report.Section, index int) report.Place { return report.Place{Section: s, Index: index} }
	backendRef, balancing := at(report.Rules, 2), at(report.Rules, 2)
	backendRef.InBackendRef, balancing.InBalancing = true, true
	for path, want := range map[string]report.Place{
		"":                                  {},
		"metadata.name":                     {},
		"spec":                              {},
		"spec.listenersOfAnother[1]":        {},
		"metadata.annotations[spec.rules]":  {},
		"spec.rules":                        at(report.Rules, -1),
		"spec.rules[x]":                     at(report.Rules, -1),
		"spec.rules[1":                      at(report.Rules, -1),
		"spec.rules[12].filters[1].type":    at(report.Rules, 12),
		"spec.rules[2].backendRefs[1].port": backendRef,
		"spec.routes[2].services[0]":        backendRef,
		"spec.routes[2].loadBalancerPolicy": balancing,
		"spec.parentRefs[3].name":           at(report.ParentRefs, 3),
		"spec.targetRefs[0]":                at(report.TargetRefs, 0),
		"spec.listeners[10].tls":            at(report.Listeners, 10),
		"spec.tls.frontend.default.validation.caCertificateRefs[1]": at(report.FrontendDefault, -1),
		"spec.tls.frontend.perPort[1].tls.validation.mode":          at(report.FrontendPerPort, 1),
		"spec.tls.backend.clientCertificateRef":                     at(report.GatewayBackend, -1),
		"spec.virtualhost.fqdn":                                     at(report.VirtualHost, -1),
		"spec.tcpproxy":                                             at(report.ProxyConnections, -1),
	} {
		got := report.PlaceOf(path)
		if got != want {
			t.Errorf("%q: got %+v, want %+v", path, got, want)
		}
		if !got.IsIn(want.Section, want.Index) || got.IsIn(want.Section, want.Index+1) || got.IsIn(want.Section+1, want.Index) {
			t.Errorf("%q is in another place than %+v", path, want)
		}
		isRule := want.Section == report.Rules && want.Index >= 0
		if got.IsInItem(report.ParentRefs, report.Rules) != (isRule || want.Section == report.ParentRefs) {
			t.Errorf("%q: in a rule or a parentRef: %t", path, !isRule)
		}
	}
}
