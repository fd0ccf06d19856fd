package main

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// parents are the reasons that hang on Gateways, and on what makes them limpet's.
var parents = []string{
	string(gatewayv1.RouteReasonNoMatchingParent), string(gatewayv1.RouteReasonNoMatchingListenerHostname),
	string(gatewayv1.RouteReasonNotAllowedByListeners), "TargetNotFound", "",
}

// hanging are the reasons of verdicts that hang on objects of a kind; the empty one is that of what has no reason.
var hanging = map[string][]string{
	"Secret":         {string(gatewayv1.ListenerReasonInvalidCertificateRef), ""},
	"ConfigMap":      {"InvalidCACertificateRef", ""},
	"Service":        {string(gatewayv1.RouteReasonBackendNotFound), "TargetNotFound", ""},
	"EndpointSlice":  {""},
	"ReferenceGrant": {string(gatewayv1.RouteReasonRefNotPermitted), ""},
	"Namespace":      {string(gatewayv1.RouteReasonNotAllowedByListeners), ""},
	"GatewayClass":   parents, "Gateway": parents, "ListenerSet": parents,
	"HTTPRoute": {"TargetNotFound", ""}, "GRPCRoute": {"TargetNotFound", ""},
}

// choose leaves the rows that are to be shown, and calls verdicts unknown that hang on what could not be read.
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
		if slices.Contains(hanging[kind], reason) {
			return true
		}
	}
	return false
}
