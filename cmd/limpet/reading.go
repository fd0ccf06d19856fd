package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
	"github.com/limpet-proxy/limpet/internal/serve"
)

// reading has what limpet serve knows besides its objects: its options and its memory. Commands that read the same
// cluster ask for it, so that they say what is served. It has no key.
type reading struct {
	Options readingOptions   `json:"options"`
	Known   controller.Known `json:"known"`
	Given   kubernetes.Given `json:"given,omitempty"`
}

// readingOptions are the flags of serve by which something else becomes of objects, or is said of them.
// TestReadingOptions has the other options of a compilation, each with why it is not among these. Which addresses
// Gateways have by --address-pool and --manage-proxies is in [kubernetes.Given].
type readingOptions struct {
	ControllerName  string   `json:"controllerName"`
	SystemNamespace string   `json:"systemNamespace"`
	GatewayAPI      string   `json:"gatewayAPI,omitempty"`
	Bind            string   `json:"bind"`
	ShareAddresses  bool     `json:"shareAddresses,omitempty"`
	AssumeClass     bool     `json:"assumeClass,omitempty"`
	ExternalNames   []string `json:"externalNames,omitempty"`
	RouteBudget     int      `json:"routeBudgetMiB,omitempty"`

	// Those of its own Envoys, which count with no other target.
	Zone          string                 `json:"zone,omitempty"`
	Native        bool                   `json:"native,omitempty"`
	LoggedHeaders compiler.LoggedHeaders `json:"loggedHeaders,omitzero"`
	DebugTickets  bool                   `json:"debugTickets,omitempty"`
}

// reading returns a function that gives the current reading.
func (sc *serveCommand) reading(by *controller.Controller) func() any {
	in := &sc.config.input
	o := readingOptions{
		ControllerName:  cmp.Or(in.kinds.controller, string(v1alpha1.ControllerName)),
		SystemNamespace: in.policies.classNamespace, GatewayAPI: in.policies.gatewayAPI,
		Bind: in.bind, ShareAddresses: in.share, AssumeClass: in.kinds.assumeClass,
		ExternalNames: in.external, RouteBudget: in.budget,
		Zone: in.zone, Native: sc.config.filter.isNative(),
		LoggedHeaders: sc.config.telemetry.logged, DebugTickets: sc.config.telemetry.tickets,
	}
	return func() any {
		has := reading{Options: o, Known: by.Known()}
		if sc.cluster.given != nil { // of an API server's objects
			has.Given = sc.cluster.given()
		}
		return has
	}
}

// takeOver takes over the options of limpet serve, except for flags on the command line. That has said with
// --system-namespace where limpet serve is, which knows itself whose policies for classes count.
func (f *inputFlags) takeOver(o readingOptions) {
	own := f.listing.flags
	f.policies.classNamespace = o.SystemNamespace
	adoptFlag(own, "controller-name", &f.kinds.controller, o.ControllerName)
	adoptFlag(own, "gateway-api", &f.policies.gatewayAPI, o.GatewayAPI)
	adoptFlag(own, "bind", &f.bind, o.Bind)
	adoptFlag(own, "share-addresses", &f.share, o.ShareAddresses)
	adoptFlag(own, "assume-class", &f.kinds.assumeClass, o.AssumeClass)
	adoptFlag(own, "external-names", &f.external, o.ExternalNames)
	adoptFlag(own, "route-budget", &f.budget, o.RouteBudget)
	if f.listing.isServed() {
		adoptFlag(own, "zone", &f.zone, o.Zone)
	}
}

// adoptFlag sets what a flag sets, unless it is on the command line.
func adoptFlag[V any](own *pflag.FlagSet, name string, to *V, served V) {
	if !own.Changed(name) {
		*to = served
	}
}

// askReading asks the replicas of limpet serve in its namespace, until one answers that has the controllerName, if one
// is named.
func askReading(
	ctx context.Context,
	config *rest.Config,
	namespace, controllerName string,
) (kubernetes.Replica, *reading, error) {
	port := int(netip.MustParseAddrPort(defaultServeAdmin).Port())
	of := &kubernetes.Replicas{Config: config, Port: port, Namespace: namespace}
	all, err := findReplicas(ctx, of)
	if err != nil {
		return kubernetes.Replica{}, nil, err
	}
	for _, r := range all {
		has := &reading{}
		failed := askReplica(ctx, of, r, serve.ReadingPage, has)
		switch {
		case failed != nil:
			err = cmp.Or(err, fmt.Errorf("limpet serve in Pod %s: %w", r, failed))
		case controllerName != "" && has.Options.ControllerName != controllerName:
			err = cmp.Or(err, errors.New("no limpet serve of the controllerName "+controllerName+" runs there"))
		default:
			return r, has, nil
		}
	}
	return kubernetes.Replica{}, nil, err
}
