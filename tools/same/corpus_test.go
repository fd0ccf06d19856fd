package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func shopCorpus(t *testing.T, seed uint64) *corpus {
	t.Helper()
	f, err := parseOptions([]byte(shopText), "keys.json")
	if err != nil {
		t.Fatal(err)
	}
	in := input{name: "golden/shop", path: "shop.in.yaml", golden: "shop", flags: f, objects: findObjects(shopText)}
	return newCorpus([]golden{{in, shopText}, {input{name: "golden/json", path: "j.in.json"}, "{}"}}, seed)
}

// TestAddSuffix shows that names and what refers to them change alike, and nothing else does.
func TestAddSuffix(t *testing.T) {
	got := strings.Join(addSuffix(splitDocuments(shopText), "-0"), separator)
	for _, want := range []string{
		"name: limpet-0", "gatewayClassName: limpet-0", "name: web-0", "sectionName: http-0", "name: cart-0",
		"kubernetes.io/service-name: cart-0", "- a.example.com", "namespace: infra\n", "port: 80",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if broken := addSuffix([]string{"a: ["}, "-0"); broken[0] != "a: [" {
		t.Errorf("broken YAML became %q", broken[0])
	}
}

// TestCorpus shows that random inputs are the same in each run, others for other seeds, and manifold.
func TestCorpus(t *testing.T) {
	const inputs = 300
	one, again, other := shopCorpus(t, 1), shopCorpus(t, 1), shopCorpus(t, 2)
	seen, used, differing := map[string]bool{}, map[string]bool{}, 0
	for number := range inputs {
		in := one.random(number)
		if !reflect.DeepEqual(in, again.random(number)) {
			t.Fatalf("input %d is another each time", number)
		}
		if in.text != other.random(number).text {
			differing++
		}
		seen[in.text] = true
		used[in.target], used[strings.Join(in.reading, " ")] = true, true
	}
	if len(seen) < inputs/3 || differing < inputs/3 {
		t.Errorf("%d of %d inputs are unlike, %d differ with the seed", len(seen), inputs, differing)
	}
	for _, want := range append(slices.Clone(targets), "--gateway-api=1.6", "--gateway-api=1.7") {
		if !used[want] {
			t.Errorf("no input has %s", want)
		}
	}
}

func TestCrossTargets(t *testing.T) {
	all := shopCorpus(t, 1).crossTargets()
	if len(all) != len(targets) {
		t.Fatalf("%d inputs, want one for each of %v", len(all), targets)
	}
	for i, in := range all {
		if in.target != targets[i] || in.golden != "" || in.name != "crossed/shop/"+targets[i] {
			t.Errorf("%+v", in)
		}
	}
}

// TestMutate shows that each way to change a document is taken, and that values of other documents come in.
func TestMutate(t *testing.T) {
	c := shopCorpus(t, 1)
	documents := splitDocuments(shopText)
	fewer, more, changed, borrowed := 0, 0, 0, 0
	for seed := range uint64(300) {
		got := c.mutate(newRandom(1, seed), documents)
		switch {
		case len(got) < len(documents):
			fewer++
		case len(got) > len(documents):
			more++
		case !slices.Equal(got, documents):
			changed++
		}
		for _, document := range got { // other documents name something cart
			if strings.Contains(document, "kind: Gateway\n") && strings.Contains(document, "name: cart\n") {
				borrowed++
			}
		}
	}
	if fewer == 0 || more == 0 || changed < 100 || borrowed == 0 {
		t.Errorf("%d fewer, %d more, %d changed, %d with a value from elsewhere", fewer, more, changed, borrowed)
	}
	if strings.Join(documents, separator) != shopText {
		t.Error("the golden input itself was changed")
	}
}
