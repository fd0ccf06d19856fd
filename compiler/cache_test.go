package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// TestCache edits an input at random, again and again, and compiles it with a cache and without one: what comes out is
// the same, byte for byte, be it files or errors.
func TestCache(t *testing.T) {
	const rounds = 60
	random := rand.New(rand.NewPCG(8, 5))
	cache := NewCache()
	sources := scaletest.MakeRoutes(40)
	sources = append(sources, Source{Name: "empty.yaml", Data: []byte("# nothing\n")})
	failed := 0
	for round := range rounds {
		o := Options{Envoy: &EnvoyOptions{ModulePath: "w"}, AssumeAdmitted: round/20 == 1}
		if round%4 == 3 {
			o.Envoy.Served = &Served{Together: true}
		}
		if _, refused := compareCompilations(t, fmt.Sprint("round ", round), sources, o, cache); refused != nil {
			var problems Errors
			if !errors.As(refused, &problems) {
				t.Fatal(refused)
			}
			failed++
		}
		sources = editSources(sources, random)
		if round%10 == 0 { // or faults pile up
			sources = scaletest.MakeRoutes(40)
		}
	}
	if failed < rounds/10 || failed > rounds*9/10 {
		t.Errorf("%d of %d rounds were refused: too few of one sort", failed, rounds)
	}
}

// compareCompilations compiles with the cache and without it, which must come to the same. It gives what that is.
func compareCompilations(t *testing.T, name string, sources []Source, o Options, cache *Cache) (*Result, error) {
	t.Helper()
	o.Cache = nil
	want, refused := Compile(sources, o)
	o.Cache = cache
	got, err := Compile(sources, o)
	switch {
	case fmt.Sprint(err) != fmt.Sprint(refused):
		t.Errorf("%s: with the cache %v\nwithout %v", name, err, refused)
	case refused == nil:
		compareResults(t, name, got, want)
	}
	return want, refused
}

// compareResults compares everything that two compilations gave.
func compareResults(t *testing.T, name string, got, want *Result) {
	t.Helper()
	for i := range want.Files {
		if !bytes.Equal(got.Files[i].Data, want.Files[i].Data) {
			t.Errorf("%s: %s differs", name, want.Files[i].Name)
		}
	}
	if !slices.Equal(got.Warnings, want.Warnings) {
		t.Errorf("%s: the warnings differ: %v\nwithout the cache %v", name, got.Warnings, want.Warnings)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the results differ", name)
	}
}

// editSources gives the sources with one thing changed: documents go, come twice or change places, lines come and go, words
// become others.
func editSources(sources []Source, random *rand.Rand) []Source {
	sources = slices.Clone(sources)
	s := &sources[random.IntN(len(sources))]
	docs := strings.SplitAfter(string(s.Data), "---\n")
	at, other := random.IntN(len(docs)), random.IntN(len(docs))
	switch random.IntN(6) {
	case 0:
		docs = slices.Delete(docs, at, at+1)
	case 1:
		docs = slices.Insert(docs, other, docs[at])
	case 2:
		docs[at], docs[other] = docs[other], docs[at]
	case 3:
		docs[at] = "# a comment\n" + docs[at]
	case 4:
		words := [][2]string{{"/cart", "/shop"}, {"8h", "9h"}, {"10.0.0.1", "10.0.0.3"}, {"port: 80", "port: 81"}, {"kind: Service", "kind: Serve"}, {"20m", "9h"}}
		w := words[random.IntN(len(words))]
		docs[at] = strings.Replace(docs[at], w[0], w[1], 1)
	default:
		s.Name = "moved-" + s.Name
	}
	s.Data = []byte(strings.Join(docs, ""))
	return sources
}

// TestCacheGolden edits every case at random, again and again with one cache. Between them the cases have everything
// that the cache keeps: policies of all kinds at all levels, shared hostnames, splits, hosts that drain, every target.
func TestCacheGolden(t *testing.T) {
	const rounds = 6
	compiled := 0
	for _, g := range loadGoldens(t) {
		random := rand.New(rand.NewPCG(uint64(len(g.source.Data)), 8))
		o, cache, source := g.parseOptions(t), NewCache(), g.source
		for round := range rounds {
			if o.Envoy != nil {
				o.Envoy.Served = nil
			}
			if o.Envoy != nil && round%3 == 2 {
				o.Envoy.Served = &Served{Together: true}
			}
			if _, refused := compareCompilations(t, fmt.Sprintf("%s, round %d", g.name, round), []Source{source}, o, cache); refused == nil {
				compiled++
			}
			if source = scribble(source, random); round%2 == 1 {
				source = scribble(g.source, random) // or faults pile up
			}
		}
	}
	if compiled < minGoldens*rounds/2 {
		t.Errorf("only %d of the edited cases could be compiled", compiled)
	}
}

// scribble gives a file with some of its documents gone, moved, or with another word or digit somewhere.
func scribble(s Source, random *rand.Rand) Source {
	docs := strings.SplitAfter(string(s.Data), "---\n")
	at, other := random.IntN(len(docs)), random.IntN(len(docs))
	switch random.IntN(7) {
	case 0:
		docs = slices.Delete(docs, at, at+1)
	case 1:
		docs[at], docs[other] = docs[other], docs[at]
	case 2:
		docs[at] = "# a comment\n" + docs[at]
	case 3, 4:
		words := [][2]string{
			{".com", ".org"},
			{"hostname: ", "hostname: w."},
			{"hostname: *.", "hostname: "},
			{"Fail", "Rebalance"},
			{"/cart", "/"},
			{"namespace: ", "namespace: x"},
			{"name: ", "name: x"},
			{"weight: ", "weight: 1"},
			{"true", "false"},
			{"false", "true"},
		}
		words = slices.DeleteFunc(words, func(w [2]string) bool { return !strings.Contains(docs[at], w[0]) })
		if len(words) > 0 {
			w := words[random.IntN(len(words))]
			docs[at] = strings.Replace(docs[at], w[0], w[1], 1+random.IntN(2))
		}
	default:
		digits := regexp.MustCompile(`[2-9]`).FindAllStringIndex(docs[at], -1)
		if len(digits) > 0 {
			d := digits[random.IntN(len(digits))][0]
			docs[at] = docs[at][:d] + fmt.Sprint(1+random.IntN(9)) + docs[at][d+1:]
		}
	}
	s.Data = []byte(strings.Join(docs, ""))
	return s
}

// TestCacheRemembers shows that the cache is of use: an object that did not change is not admitted again.
func TestCacheRemembers(t *testing.T) {
	cache := NewCache()
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w"}, Cache: cache}
	sources := scaletest.MakeRoutes(20)
	compile := func() float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := Compile(sources, o); err != nil {
				t.Fatal(err)
			}
		})
	}
	with := compile()
	o.Cache = nil
	if without := compile(); with > without/3 {
		t.Errorf("%.0f allocations with the cache, %.0f without", with, without)
	}
}
