package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// threeVersions is a split with sessions, running, and what it began with.
type threeVersions struct {
	*harness.Watching
	of map[string]int // the version of each backend
}

// weighed are references to three versions with weights.
func weighed(weights [3]int) []harness.Ref {
	return []harness.Ref{{Service: "v1", Weight: weights[0]}, {Service: "v2", Weight: weights[1]}, {Service: "v3", Weight: weights[2]}}
}

func runThreeVersions(t *testing.T, weights [3]int) *threeVersions {
	t.Helper()
	v, rule := &threeVersions{of: map[string]int{}}, harness.CookieRule("cart", "")
	rule.Refs = weighed(weights)
	documents := harness.Documents{Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{rule}}}}
	for i, name := range []string{"v1", "v2", "v3"} {
		pods := harness.Backends(t, name+"a", name+"b")
		documents.Services = append(documents.Services, harness.Service{Name: name, Backends: pods})
		for _, pod := range pods {
			v.of[pod.Name] = i
		}
	}
	v.Watching = harness.RunWatching(t, documents, harness.NewRing("first"))
	return v
}

// begin begins so many sessions and gives how many each version has.
func (v *threeVersions) begin(t *testing.T, count int) (on [3]int) {
	t.Helper()
	client := v.Client()
	client.Jar = nil
	for range count {
		on[v.of[visit(t, client, "/cart", quietly).Backend]]++
	}
	return on
}

// TestRandomWeights has sessions at each version of a split through random weights, 0 and 100 among them, while they are in use: no request
// fails and no session moves, and a version of weight 0 gets no new one.
//
// requirements: S31
func TestRandomWeights(t *testing.T) {
	t.Parallel()
	first, sessions := [3]int{60, 30, 10}, harness.Size(600, 3000)
	v := runThreeVersions(t, first)
	for i, count := range v.begin(t, sessions) {
		wantShare(t, "new sessions on a version", count, sessions, first[i])
	}
	v.Set(t, func(d *harness.Documents) { d.Routes[0].Rules[0].Refs = weighed([3]int{1, 1, 1}) })
	clients := harness.NewClients(t, 96, func(int) func() (harness.Response, error) { return harness.Getter(v.Client(), "/cart", quietly) })
	clients.Every = 150 * time.Millisecond
	if begun := clients.Homes(); len(begun) != len(v.of) {
		t.Fatalf("sessions are on %v, want all of %v", begun, v.of)
	}
	random, weights, strangers := rand.New(rand.NewPCG(36, 36)), first, sessions
	tally := clients.During(func() {
		for range harness.Size(20, 200) {
			weights = chooseWeights(random, weights)
			v.Set(t, func(d *harness.Documents) { d.Routes[0].Rules[0].Refs = weighed(weights) })
			eventually(t, fmt.Sprintf("no new session goes to a version of weight 0 of %v", weights), func() bool {
				on := v.begin(t, 20)
				strangers += 20
				return !slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool { return weights[i] == 0 && on[i] > 0 })
			})
		}
	})
	if tally.Moved() > 0 || tally.Failed() > 0 {
		t.Errorf("%v", tally)
	}
	harness.RecordResult(t, "random weights of a split of three, 0 and 100 among them; a session beats the weights (1.6)", harness.Result{
		Requests: tally.Requests + strangers, Sessions: clients.Size() + strangers, Changes: v.Changes(), Lost: tally.Moved(), Errors: tally.Failed(),
	})
}

// chooseWeights gives each version 0, 100 or any weight, not 0 to all, and others than before.
func chooseWeights(random *rand.Rand, before [3]int) [3]int {
	for w := before; ; {
		for i := range w {
			w[i] = []int{0, 0, 100, random.IntN(101)}[random.IntN(4)]
		}
		if w != before && w != [3]int{} {
			return w
		}
	}
}
