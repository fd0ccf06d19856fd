package main

import (
	"strings"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
)

// cell is one measurement: a contestant and the traffic that it gets.
type cell struct{ contestant, traffic string }

func (c cell) String() string { return c.contestant + "/" + c.traffic }

// signs tells whether the contestant issues limpet's tokens as cookies.
func (c cell) signs() bool {
	if c.contestant == rig.Rust || c.contestant == rig.NativeRust {
		return true
	}
	for _, prefix := range []string{rig.Limpet, rig.Native, "variant:"} {
		if strings.HasPrefix(c.contestant, prefix) {
			return true
		}
	}
	return false
}

// base is the cell with the same requests and no filter.
func (c cell) base() cell {
	switch c.traffic {
	case "pinned-http2", "without-route", "flood-others":
		return cell{rig.None, c.traffic}
	case "flood-forged":
		return cell{rig.None, "flood-others"}
	case "new", "preflight":
		return cell{rig.None, "new"}
	}
	return cell{rig.None, "pinned"}
}

// row is a line of the table.
type row struct {
	cell
	title string
}

// tableRows are the rows of the table. The cookie of Lua and of Envoy's own sessions is the pin itself.
var tableRows = []row{
	{cell{rig.None, "pinned"}, "no filter"},
	{cell{rig.None, "new"}, "no filter, without a session cookie"},
	{cell{rig.Unsigned, "pinned-plain"}, "Envoy's unsigned cookie, pinned"},
	{cell{rig.Unsigned, "new"}, "Envoy's unsigned cookie, new"},
	{cell{rig.TinyGo, "pinned"}, "empty TinyGo filter"},
	{cell{rig.TinyGo, "new"}, "empty TinyGo filter, without a session cookie"},
	{cell{rig.Lua, "pinned-plain"}, "Lua, verifies nothing, pinned"},
	{cell{rig.Lua, "new"}, "Lua, verifies nothing, new"},
	{cell{rig.Rust, "pinned"}, "Rust peer, pinned"},
	{cell{rig.Rust, "new"}, "Rust peer, new"},
	{cell{rig.Limpet, "pinned"}, "limpet, pinned"},
	{cell{rig.Limpet, "new"}, "limpet, new"},
	{cell{rig.Limpet, "pinned-many"}, "limpet, pinned, 20,000 sessions (more than its cache holds)"},
	{cell{rig.LimpetIdle, "renewed"}, "limpet, renewed"},
	{cell{rig.Limpet, "forged"}, "limpet, forged token, new one issued"},
	{cell{rig.Limpet, "preflight"}, "limpet, no cookie and none issued (CORS preflight)"},
	{cell{rig.LimpetMany, "pinned"}, "limpet, pinned, 10,000 policies"},
	{cell{rig.LimpetHeader, "header"}, "limpet, pinned, header mode"},
	{cell{rig.NativeEmpty, "pinned"}, "empty native filter in C"},
	{cell{rig.NativeEmpty, "new"}, "empty native filter in C, without a session cookie"},
	{cell{rig.NativeRust, "pinned"}, "native Rust peer, pinned"},
	{cell{rig.NativeRust, "new"}, "native Rust peer, new"},
	{cell{rig.Native, "pinned"}, "native limpet, pinned"},
	{cell{rig.Native, "new"}, "native limpet, new"},
	{cell{rig.Native, "pinned-many"}, "native limpet, pinned, 20,000 sessions (more than its cache holds)"},
	{cell{rig.NativeIdle, "renewed"}, "native limpet, renewed"},
	{cell{rig.Native, "forged"}, "native limpet, forged token, new one issued"},
	{cell{rig.Native, "preflight"}, "native limpet, no cookie and none issued (CORS preflight)"},
	{cell{rig.NativeMany, "pinned"}, "native limpet, pinned, 10,000 policies"},
	{cell{rig.NativeHeader, "header"}, "native limpet, pinned, header mode"},
	{cell{rig.None, "pinned-http2"}, "no filter, HTTP/2"},
	{cell{rig.Limpet, "pinned-http2"}, "limpet, pinned, HTTP/2"},
	{cell{rig.Native, "pinned-http2"}, "native limpet, pinned, HTTP/2"},
	{cell{rig.None, "without-route"}, "no filter, another route"},
	{cell{rig.Limpet, "without-route"}, "limpet, route without a policy"},
	{cell{rig.Native, "without-route"}, "native limpet, route without a policy"},
	{cell{rig.LimpetEverywhere, "without-route"}, "limpet on everywhere, route without a policy"},
	{cell{rig.NativeEverywhere, "without-route"}, "native limpet on everywhere, route without a policy"},
	{cell{rig.None, "flood-others"}, "no filter, 55 kB of cookies"},
	{cell{rig.Limpet, "flood-others"}, "limpet, 55 kB of other cookies, new"},
	{cell{rig.Limpet, "flood-forged"}, "limpet, 55 kB of forged cookies, new"},
	{cell{rig.Native, "flood-others"}, "native limpet, 55 kB of other cookies, new"},
	{cell{rig.Native, "flood-forged"}, "native limpet, 55 kB of forged cookies, new"},
}
