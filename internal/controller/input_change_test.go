package controller

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

var (
	kindLine = regexp.MustCompile(`(?m)^kind: (\w+)$`)
	nameLine = regexp.MustCompile(`(?m)^metadata: {name: ([\w-]+)`)
)

// applyObjects applies documents as those of an API server, each a source of its own.
func applyObjects(t *testing.T, c *Controller, keys policyconfig.Keys, text string) []compiler.Source {
	t.Helper()
	var sources []compiler.Source
	for _, one := range strings.Split(text, "\n---\n") {
		name := kindLine.FindStringSubmatch(one)[1] + "/default/" + nameLine.FindStringSubmatch(one)[1]
		sources = append(sources, compiler.Source{Name: name, Data: []byte(one)})
	}
	slices.SortFunc(sources, func(a, b compiler.Source) int { return strings.Compare(a.Name, b.Name) })
	takeInput(t, c, Input{Keys: keys, Sources: read.NewList(sources...)})
	return sources
}

// TestChanges: statuses are found out for changes that they may depend on alone. Pods that come and go are none, unless there is something
// to say of them.
func TestChanges(t *testing.T) {
	c, keys := newController(t)
	c.Admitted = true
	asked := 0
	c.Notify = func() { asked++ }
	text := readGateways(t) + podDocuments
	last := ""
	for _, step := range []struct {
		name, from, to string
		asks           bool
	}{
		{"the first", "", "", true},
		{"the same", "", "", false},
		{"another address", "10.0.1.1", "10.0.1.2", false},
		{"another pod", "uid: first", "uid: second", false},
		{"one more", "[{addresses: [10.0.1.2]", "[{addresses: [10.0.1.3]}, {addresses: [10.0.1.2]", false},
		{"one that is left out", "10.0.1.3", "127.0.0.1", true},
		{"one that is not", "127.0.0.1", "10.0.1.3", true},
		{"another policy", "sessionName: CART", "sessionName: BASKET", true},
		{"another label", "metadata: {name: cart, namespace: default}", "metadata: {name: cart, namespace: default, labels: {a: b}}", true},
		{"no pod", "endpoints: [", "endpoints: []\nignored: [", true},
	} {
		before := asked
		if text = strings.Replace(text, step.from, step.to, 1); step.name == "no pod" {
			text = text[:strings.Index(text, "\nignored:")]
		}
		applyObjects(t, c, keys, text)
		if asks := asked > before; asks != step.asks {
			t.Errorf("%s: statuses are asked for %v", step.name, asks)
		}
		checked, err := c.Statuses(nil, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(checked.Objects)
		if err != nil {
			t.Fatal(err)
		}
		now := transitionTime.ReplaceAllString(string(data), "")
		if !step.asks && now != last {
			t.Errorf("%s: statuses are not asked for, and are\n%s\nnot\n%s", step.name, now, last)
		}
		last = now
	}
}

var transitionTime = regexp.MustCompile(`"lastTransitionTime":"[^"]*"`)
