package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestShuffledDocumentsGiveTheSameBytes compiles each case's documents in other orders, together and as files of
// their own.
func TestShuffledDocumentsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	shuffled := 0
	for _, g := range loadGoldens(t) {
		documents := strings.Split(string(g.source.Data), "\n---\n")
		want, err := Compile([]Source{g.source}, g.parseOptions(t))
		if err != nil || len(documents) < 3 || strings.Contains(string(g.source.Data), "--- ") {
			continue
		}
		shuffled++
		for range sized(1, 3) {
			random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
			var files []Source
			for i, d := range documents {
				files = append(files, Source{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(d)})
			}
			together := []Source{{Name: "all.yaml", Data: []byte(strings.Join(documents, "\n---\n"))}}
			for _, sources := range [][]Source{files, together} {
				sameResult(t, g, sources, want)
			}
		}
	}
	if shuffled < 40 {
		t.Errorf("only %d cases were shuffled", shuffled)
	}
}

func sameResult(t *testing.T, g golden, sources []Source, want *Result) {
	t.Helper()
	got, err := Compile(sources, g.parseOptions(t))
	if err != nil {
		t.Errorf("%s: shuffled: %v", g.name, err)
		return
	}
	if !bytes.Equal(got.Main(), want.Main()) || !bytes.Equal(got.PluginJSON, want.PluginJSON) {
		t.Errorf("%s: shuffled documents give other bytes", g.name)
	}
	if !slices.Equal(stripPlaces(got.Warnings), stripPlaces(want.Warnings)) {
		t.Errorf("%s: shuffled documents give other warnings:\n%q\nwant\n%q", g.name, stripPlaces(got.Warnings), stripPlaces(want.Warnings))
	}
}

// stripPlaces gives the warnings without their places, in an order of their own.
func stripPlaces(warnings []Problem) []string {
	var lines []string
	for _, w := range warnings {
		w.File, w.Line = "", 0
		lines = append(lines, w.String())
	}
	slices.Sort(lines)
	return lines
}

// TestNothingMuch shows that input of which nothing is served is refused, unless that is wanted.
func TestNothingMuch(t *testing.T) {
	comment := []Source{{Name: "a.yaml", Data: []byte("# nothing\n")}}
	for name, sources := range map[string][]Source{"no sources at all": nil, "a comment": comment} {
		r, err := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w"}})
		if r != nil || err == nil || !strings.Contains(err.Error(), "no listener is left") {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if _, err := Compile(sources, Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w"}}); err != nil {
			t.Errorf("%s, with leave: %v", name, err)
		}
	}
	o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w"}}
	empty := []Source{{Name: "a.yaml", Data: []byte("\n")}} // which may not be written yet
	if r, err := Compile(empty, o); err != nil || len(r.Warnings) != 1 || r.Warnings[0].Verdict() != Refused {
		t.Errorf("an empty file is not left out: %v, %v", r, err)
	}
	o.HoldInvalid = true
	if r, err := Compile(empty, o); r != nil || err == nil || !strings.Contains(err.Error(), "a.yaml: the file is empty") {
		t.Errorf("an empty file is not held: %v, %v", r, err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		`target: Unsupported value: "nginx": supported values: "envoy", `:                     {Target: "nginx"},
		`wasm URL: Invalid value: "file:///x": must begin with https://`:                      {Target: TargetEnvoyGateway, EnvoyGateway: &EnvoyGatewayOptions{WasmURL: "file:///x"}},
		`gateway API: Unsupported value: "1.8": supported values: "1.6", "1.7"`:               {Envoy: &EnvoyOptions{ModulePath: "w"}, GatewayAPI: "1.8"},
		`partial split: Unsupported value: "some": supported values: "all", "reject"`:         {Envoy: &EnvoyOptions{ModulePath: "w"}, PartialSplit: "some"},
		"istio options: Forbidden: the target is envoy":                                       {Envoy: &EnvoyOptions{ModulePath: "w"}, Istio: &IstioOptions{}},
		"envoy options: Forbidden: the target is plugin":                                      {Target: TargetPlugin, Envoy: &EnvoyOptions{}},
		"envoy-gateway options: Forbidden: the target is ist":                                 {Target: TargetIstio, EnvoyGateway: &EnvoyGatewayOptions{}},
		"zone: Forbidden: with target istio the control plane":                                {Target: TargetIstio, Zone: "a"},
		`module path: Required value`:                                                         {},
		`bind address: Invalid value: "localhost": must be an IP address`:                     {Envoy: &EnvoyOptions{ModulePath: "w"}, Bind: "localhost"},
		`admin address: Invalid value: "9901": must be an IP address and a port, such as `:    {Envoy: &EnvoyOptions{ModulePath: "w", Admin: "9901"}},
		`admin address: Invalid value: "[::1]:0": must be an IP address and a port, such as `: {Envoy: &EnvoyOptions{ModulePath: "w", Admin: "[::1]:0"}},
		`keys.ring.keys[0].secret: `: {Envoy: &EnvoyOptions{ModulePath: "w"}, Keys: policyconfig.Keys{Ring: &policyconfig.KeyRing{
			Keys: []policyconfig.Key{{ID: "a", Secret: []byte("short")}},
		}}},
	} {
		_, err := Compile(nil, o)
		var problems Errors
		if err == nil || !strings.HasPrefix(err.Error(), name) || errors.As(err, &problems) {
			t.Errorf("got %v, want %s...", err, name)
		}
		if err != nil && strings.Contains(err.Error(), "short") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

// TestProblemsShow holds the form of a line.
func TestProblemsShow(t *testing.T) {
	for want, p := range map[string]Problem{
		"cart.yaml:12: HTTPRoute default/cart: spec.rules[0].name: Required value": {
			File: "cart.yaml", Line: 12, Object: "HTTPRoute default/cart", Path: "spec.rules[0].name", Message: "Required value",
		},
		"cart.yaml: the file is empty": {File: "cart.yaml", Message: "the file is empty"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
