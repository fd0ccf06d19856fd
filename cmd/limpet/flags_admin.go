package main

import (
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// adminFlag is --admin of an Envoy: where its admin interface listens, and whether all of its pages are open.
type adminFlag struct {
	address string
	all     bool
}

// allPages as a value of --admin opens them.
const allPages = "all"

func (a *adminFlag) register(f *pflag.FlagSet) {
	a.address = compiler.DefaultAdmin
	f.Var(a, "admin", "`ADDRESS` of Envoy's admin, or none; with \"all\", as in --admin all or\n"+
		"127.0.0.1:9901,all, all of its pages are open: /config_dump, and those that\n"+
		"change Envoy or end it (else those that show how it is)")
}

// Set takes an address, "all" or both. What is set before stays for what is not named.
func (a *adminFlag) Set(value string) error {
	for part := range strings.SplitSeq(value, ",") {
		if part == allPages {
			a.all = true
		} else {
			a.address = part
		}
	}
	return nil
}

// String gives the value.
func (a *adminFlag) String() string {
	if a.all {
		return a.address + "," + allPages
	}
	return a.address
}

// Type is for shells that complete.
func (a *adminFlag) Type() string { return "address" }

// set puts it into what an Envoy starts from.
func (a *adminFlag) set(b *envoy.ServerBootstrap) {
	if a.address != compiler.NoAdmin {
		b.Admin, b.AdminAll = netip.MustParseAddrPort(a.address), a.all
	}
}

// checkFlags refuses what is no address, and to open all pages to other machines.
func (a *adminFlag) checkFlags() error {
	switch {
	case a.address != compiler.NoAdmin && !isAddrPort(a.address):
		return usagef("--admin %q: must be an IP address and a port, such as %s, or none", a.address, compiler.DefaultAdmin)
	case a.all && !isLoopback(a.address):
		return usagef("--admin %s: all pages are for a loopback address, such as %s", a, compiler.DefaultAdmin)
	}
	return nil
}
