package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// corpus makes random inputs of golden ones. Equal goldens, seeds and numbers give equal inputs.
type corpus struct {
	goldens []golden // of YAML
	values  fieldValues
	seed    uint64
}

func newCorpus(goldens []golden, seed uint64) *corpus {
	c := &corpus{seed: seed, values: fieldValues{}}
	for _, g := range goldens {
		if !strings.HasSuffix(g.path, ".json") {
			c.goldens = append(c.goldens, g)
			c.values.collect(splitDocuments(g.data))
		}
	}
	return c
}

// crossTargets gives each golden input for each target, under random options.
func (c *corpus) crossTargets() []input {
	r := newRandom(c.seed, 0)
	var all []input
	for _, g := range c.goldens {
		for _, target := range targets {
			in := g.input
			in.name = strings.Replace(g.name, "golden/", "crossed/", 1) + "/" + target
			in.flags, in.golden = pickFlags(r, target), ""
			in.objects = pickObjects(r, g.objects)
			all = append(all, in)
		}
	}
	return all
}

// random gives the input of a number, from 1.
func (c *corpus) random(number int) input {
	r := newRandom(c.seed, uint64(number))
	base, documents := c.combine(r)
	for range r.IntN(3) {
		documents = c.mutate(r, documents)
	}
	in := input{name: "random/" + strconv.Itoa(number), text: strings.Join(documents, separator), flags: base.flags}
	if r.IntN(3) > 0 {
		in.flags = pickFlags(r, pick(r, targets))
	}
	in.objects = pickObjects(r, findObjects(in.text))
	return in
}

// combine takes one golden input, or puts a few together: under their own names, which may clash, or under new ones.
func (c *corpus) combine(r *rand.Rand) (golden, []string) {
	base := pick(r, c.goldens)
	documents := splitDocuments(base.data)
	if r.IntN(5) < 3 {
		return base, documents
	}
	apart := r.IntN(4) > 0
	for i := range 1 + r.IntN(3) {
		more := splitDocuments(pick(r, c.goldens).data)
		if apart {
			more = addSuffix(more, fmt.Sprintf("-%d", i))
		}
		documents = append(documents, more...)
	}
	return base, documents
}

// mutate changes documents a little, in one of many ways.
func (c *corpus) mutate(r *rand.Rand, documents []string) []string {
	documents = slices.Clone(documents)
	if len(documents) == 0 {
		return documents
	}
	at, other := r.IntN(len(documents)), r.IntN(len(documents))
	switch r.IntN(10) {
	case 0:
		return slices.Delete(documents, at, at+1)
	case 1:
		documents[at], documents[other] = documents[other], documents[at]
	case 2:
		return slices.Insert(documents, at, pick(r, splitDocuments(pick(r, c.goldens).data)))
	case 3, 4:
		documents[at] = scribble(r, documents[at])
	default:
		documents[at] = c.values.mutate(r, documents[at])
	}
	return documents
}

// pickFlags picks options for a target.
func pickFlags(r *rand.Rand, target string) flags {
	f := defaultFlags(target)
	f.strict = r.IntN(8) == 0
	add := func(to *[]string, oneIn int, choices ...string) {
		if r.IntN(oneIn) == 0 {
			*to = append(*to, pick(r, choices))
		}
	}
	add(&f.reading, 2, "--gateway-api=1.6", "--gateway-api=1.7")
	add(&f.reading, 8, "--system-namespace=default", "--system-namespace=infra")
	add(&f.writing, 16, "--bind=127.0.0.1", "--bind=::1")
	add(&f.writing, 2, "--assume-admitted")
	add(&f.writing, 16, "--admin=none", "--admin=127.0.0.1:9999")
	if target == "istio" {
		add(&f.writing, 5, "--istio=phase=AUTHN", "--istio=phase=STATS")
		add(&f.writing, 5, "--istio=priority=10")
		add(&f.writing, 5, "--istio=fail-strategy=FAIL_OPEN", "--istio=fail-strategy=FAIL_CLOSE")
		add(&f.writing, 5, "--istio=root-namespace=mesh")
		add(&f.writing, 3, "--istio=traffic-extension=true")
		add(&f.writing, 3, "--istio=native-pin=true")
	}
	return f
}

// pickObjects picks the objects to describe: a few, for there are many inputs.
func pickObjects(r *rand.Rand, objects []string) []string {
	const most = 2
	objects = slices.Clone(objects)
	r.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	return objects[:min(most, len(objects))]
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// newRandom makes the same numbers in each run.
func newRandom(seed, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, number)) //nolint:gosec // no secrets: inputs must be the same each time
}
