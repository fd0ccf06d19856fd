package main

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/serve"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// TestStatusIsPlain: what an Envoy calls itself, and what it says, moves no cursor and makes no lines of its own.
func TestStatusIsPlain(t *testing.T) {
	var out strings.Builder
	status := serve.Status{Envoys: []xds.ClientStatus{{
		Gateway: "a/b", Node: "x\x1b[2J\ny", Rejected: []xds.Rejection{{Type: "routes", Name: "r", Words: "no\r\x1b[1A\ngood"}},
		Routes: "whole: no\r\x1b[1A\ngood",
	}}}
	if err := printStatus(&out, status, true); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\r") || strings.Count(out.String(), "\n") != 8 {
		t.Errorf("got %q", out.String())
	}
}

// TestStatusUnsharded: Envoys without shards are told by reason, and three of them by name.
func TestStatusUnsharded(t *testing.T) {
	var envoys []xds.ClientStatus
	for _, node := range []string{"a", "b", "c", "d", "e"} {
		envoys = append(envoys, xds.ClientStatus{Node: node, Routes: xds.WholeRoutes + "no file"})
	}
	envoys = append(envoys, xds.ClientStatus{Node: "x", Routes: xds.WholeRoutes + "no ABI"}, xds.ClientStatus{Node: "y", Routes: "sharded"})
	var out strings.Builder
	if err := printUnsharded(&out, envoys); err != nil {
		t.Fatal(err)
	}
	const want = `
without shards, with one table of routes for each listener: x
  no ABI

without shards, with one table of routes for each listener: a, b, c, 2 more
  no file
`
	if out.String() != want {
		t.Errorf("got %q\nwant %q", out.String(), want)
	}
}
