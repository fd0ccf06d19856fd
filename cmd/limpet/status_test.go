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
