package main

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// parents are the reasons that depend on Gateways and GatewayClasses.
var parents = []string{
	string(gatewayv1.RouteReasonNoMatchingParent), string(gatewayv1.RouteReasonNoMatchingListenerHostname),
	string(gatewayv1.RouteReasonNotAllowedByListeners), "TargetNotFound", "",
}

// dependentReasons has, by kind, the reasons of verdicts that depend on objects of the kind; "" is for verdicts without
// a reason.
var dependentReasons = map[string][]string{
	"Secret":         {string(gatewayv1.ListenerReasonInvalidCertificateRef), ""},
	"ConfigMap":      {"InvalidCACertificateRef", ""},
	"Service":        {string(gatewayv1.RouteReasonBackendNotFound), "TargetNotFound", ""},
	"EndpointSlice":  {""},
	"ReferenceGrant": {string(gatewayv1.RouteReasonRefNotPermitted), ""},
	"Namespace":      {string(gatewayv1.RouteReasonNotAllowedByListeners), ""},
	"GatewayClass":   parents, "Gateway": parents, "ListenerSet": parents,
	"HTTPRoute": {"TargetNotFound", ""}, "GRPCRoute": {"TargetNotFound", ""},
}

// choose returns the rows to show. A verdict that depends on objects that could not be read becomes Unknown.
func (l *listingFlags) choose(rows []status.Row) (shown []status.Row) {
	for _, r := range rows {
		r.File, r.Line = "", 0 // they are in no file
		if r.Verdict.AtLeast(compiler.Warning) && l.hangs(r.Reason) {
			r.Verdict, r.Severity = compiler.Unknown, compiler.Unknown.Severity()
		}
		_, name, _ := strings.Cut(r.Object, " ")
		if of, _, is := strings.Cut(name, "/"); l.namespace == "" || !is || of == l.namespace {
			shown = append(shown, r)
		}
	}
	return shown
}

func (l *listingFlags) hangs(reason string) bool {
	for kind := range l.listing.Denied {
		if slices.Contains(dependentReasons[kind], reason) {
			return true
		}
	}
	return false
}
