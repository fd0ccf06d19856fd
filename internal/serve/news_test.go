package serve

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestNews: statuses are found out for changes that they may depend on alone. Pods that come and go are none, unless there is something
// to say of them.
func TestNews(t *testing.T) {
	o, keys := newOutput(t)
	o.Admitted = true
	asked := 0
	o.Notify = func() { asked++ }
	text := withCertificate(t, podDocuments)
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
		in := applyObjects(t, o, keys, text)
		if asks := asked > before; asks != step.asks {
			t.Errorf("%s: statuses are asked for %v", step.name, asks)
		}
		checked, err := o.Check(in, nil)
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
