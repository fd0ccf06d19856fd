package main

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
)

// unread are the options of a compilation that commands that read a cluster do not take over from limpet serve, by the
// reason.
var unread = map[string][]string{
	"the command says it itself": {
		"Options.Target", "Options.Time", "Options.StrictKinds", "Options.SuggestNames", "Options.Since", "Options.CurrentStatus",
	},
	"what becomes of an object does not depend on it": {"Options.Strict", "Options.FailOn"},
	"objects of an API server are read so by all": {
		"Options.AssumeAdmitted", "Options.AllowEmpty", "Options.HoldInvalid", "Options.Namespace",
	},
	"limpet serve has no flag for it": {
		"Options.LocalClients", "Options.PartialSplit", "EnvoyOptions.AdminAll", "EnvoyOptions.Unusable", "EnvoyOptions.Machine",
		"Served.Together",
	},
	"only what proxies get and log depends on it": {
		"Options.Keys", "Options.AccessLog", "Options.SessionDigest", "EnvoyOptions.ModulePath", "EnvoyOptions.ModuleSHA256",
		"EnvoyOptions.ShardModule", "Served.Scopes", "Served.Telemetry",
	},
	"only what becomes of a ticket depends on it, which limpet ticket says": {"Options.DebugTickets"},
	"it is how proxies do, which statuses and limpet status say": {
		"Served.Rejected", "Served.Unacknowledged", "Served.Ended", "Served.ClassParameters", "Served.Proxies",
	},
	"limpet serve has no such target": {"Options.EnvoyGateway", "Options.Istio"},
}

// TestReadingOptions: a command that reads a cluster compiles by each option of limpet serve, and by all that this remembers, but for what
// is listed with a reason. An option that is new is in one of the two.
func TestReadingOptions(t *testing.T) {
	sc := serveCommand{}
	sc.config.input = inputFlags{
		bind: "10.0.0.1", share: true, external: []string{"*.example.com"}, zone: "a", budget: 7,
		policies: policyFlags{gatewayAPI: "1.7", classNamespace: "infra"},
		kinds:    kindFlags{controller: "example.com/limpet", assumeClass: true},
	}
	sc.config.filter.build, sc.config.admin.address = filterNative, compiler.NoAdmin
	sc.config.telemetry.logged = compiler.LoggedHeaders{Request: []string{"user-agent"}}
	known := newKnown(t)
	served := sc.config.options(controller.Input{}, compiler.TargetEnvoy, "limpet.wasm")
	all := compiler.Options{}
	known.Set(&all)
	served.Holders, served.Envoy.Served = all.Holders, all.Envoy.Served

	read := sc.reading(&controller.Controller{})().(reading)
	read.Known = known
	o := newListed(t, read, compiler.TargetEnvoy).checkOptions("")
	rest := map[string]string{}
	for why, names := range unread {
		for _, name := range names {
			rest[name] = why
		}
	}
	compareOptions(t, rest, served, o)
	compareOptions(t, rest, *served.Envoy, *o.Envoy)
	compareOptions(t, rest, *served.Envoy.Served, *o.Envoy.Served)
	for name, why := range rest {
		t.Errorf("there is no option %s, of which it says: %s", name, why)
	}
}

// newKnown has something of each kind.
func newKnown(t *testing.T) controller.Known {
	t.Helper()
	at := compiler.HostKey{Namespace: "shop", Address: netip.MustParseAddrPort("10.0.0.2:8080")}
	left := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	holders := &compiler.Holders{}
	if err := json.Unmarshal([]byte("{}"), holders); err != nil {
		t.Fatal(err)
	}
	return controller.Known{
		Holders: holders, Nodes: &compiler.Nodes{APIServers: []netip.AddrPort{at.Address}},
		Owners:   map[compiler.HostKey]compiler.HostOwner{at: {UID: "a", Reused: true}},
		Draining: map[compiler.HostKey]time.Time{at: left},
		Left:     map[string]*compiler.SelectedPod{"a": {Namespace: "shop", Service: "cart", UID: "a", Left: left}},
		Own:      []netip.AddrPort{at.Address}, Remote: true,
	}
}

// newListed gives the flags of a command without any, and what limpet serve answered.
func newListed(t *testing.T, read reading, target compiler.Target) *inputFlags {
	t.Helper()
	f, flags, named := &inputFlags{elsewhere: true}, pflag.NewFlagSet("", pflag.ContinueOnError), ""
	f.registerSources(flags)
	f.registerListing(flags)
	registerTarget(flags, &named, "")
	if err := flags.Set("target", string(target)); err != nil {
		t.Fatal(err)
	}
	sent, has := &reading{}, f.listing
	if text, err := json.Marshal(read); err != nil || json.Unmarshal(text, sent) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	f.takeOver(sent.Options)
	has.listing = &kubernetes.Listing{}
	if has.isServed() {
		has.reading = sent
	}
	return f
}

// compareOptions wants the same in all fields but the unread ones, which it removes, and something in each.
func compareOptions[O any](t *testing.T, unread map[string]string, served, read O) {
	t.Helper()
	of := reflect.TypeFor[O]()
	for i := range of.NumField() {
		name := of.Name() + "." + of.Field(i).Name
		want, got := reflect.ValueOf(served).Field(i), reflect.ValueOf(read).Field(i)
		isPart := name == "Options.Envoy" || name == "EnvoyOptions.Served"
		switch {
		case !of.Field(i).IsExported(), isPart:
		case unread[name] != "":
			delete(unread, name)
		case want.IsZero():
			t.Errorf("%s: is it taken over? The test has no value for it", name)
		case !reflect.DeepEqual(want.Interface(), got.Interface()):
			t.Errorf("%s is %v, and limpet serve has %v", name, got, want)
		}
	}
}

// TestReadingOfOtherTargets: options for limpet serve's own Envoys do not count for proxies of others, where some are refused.
func TestReadingOfOtherTargets(t *testing.T) {
	read := reading{Known: newKnown(t), Options: readingOptions{
		Bind: "10.0.0.1", GatewayAPI: "1.7", Zone: "a", Native: true,
		LoggedHeaders: compiler.LoggedHeaders{Request: []string{"user-agent"}},
	}}
	for _, target := range compiler.Targets()[1:] {
		o := newListed(t, read, compiler.Target(target)).checkOptions(target)
		if o.GatewayAPI != "1.7" || o.Zone != "" || o.Envoy != nil || !o.LoggedHeaders.IsEmpty() {
			t.Errorf("%s: %+v", target, o)
		}
		if _, err := compiler.Check(nil, o); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestTicketsUnanswered: a ticket that no Envoy answers comes with words that say so.
func TestTicketsUnanswered(t *testing.T) {
	for _, answers := range []bool{true, false} {
		tc := ticketCommand{input: inputFlags{paths: []string{"x"}, listing: &listingFlags{
			reading: &reading{Options: readingOptions{DebugTickets: answers}},
		}}}
		if doubt := tc.doubt(); (doubt == "") != answers {
			t.Errorf("with --debug-tickets %t: %q", answers, doubt)
		}
	}
}
