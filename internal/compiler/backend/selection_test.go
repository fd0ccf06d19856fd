package backend_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

const keepPolicy = `apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: p, namespace: shop}
spec: {targetRefs: [{group: "", kind: Service, name: cart}], keepUnselected: 10m}
`

// sliceText is the Service's EndpointSlice with endpoints: ADDRESS UID, and terminating where it ends in *.
func sliceText(endpoints ...string) string {
	text := "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}\n" +
		"addressType: IPv4\nports: [{name: http, port: 8080, protocol: TCP}]\nendpoints:\n"
	for _, e := range endpoints {
		address, uid, _ := strings.Cut(e, " ")
		uid, leaves := strings.CutSuffix(uid, "*")
		conditions := "{ready: true}"
		if leaves {
			conditions = "{ready: false, serving: true, terminating: true}"
		}
		text += fmt.Sprintf("- {addresses: [%s], conditions: %s, targetRef: {kind: Pod, name: x, uid: %q}}\n", address, conditions, uid)
	}
	return text
}

// podText is a pod: ADDRESS UID, and one that is not ready where it ends in *.
func podText(pods ...string) (text string) {
	for _, p := range pods {
		address, uid, _ := strings.Cut(p, " ")
		uid, unready := strings.CutSuffix(uid, "*")
		text += fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, uid: %q}\n"+
			"status: {phase: Running, podIPs: [{ip: %s}], conditions: [{type: Ready, status: %q}]}\n",
			uid, uid, address, map[bool]string{false: "True", true: "False"}[unready])
	}
	return text
}

// TestUnselected takes a Service's pods through what can become of them, with a restart before each step.
//
// requirements: 2A.29, S42
func TestUnselected(t *testing.T) {
	all, both := podText("10.0.0.1 a", "10.0.0.2 b"), sliceText("10.0.0.1 a", "10.0.0.2 b")
	onlyB := sliceText("10.0.0.2 b")
	for name, steps := range map[string][]struct{ documents, want string }{
		"relabelled":                 {{keepPolicy + both + all, ""}, {keepPolicy + onlyB + all, "10.0.0.1 a @1"}, {keepPolicy + onlyB + all, "10.0.0.1 a @1"}},
		"and selected again":         {{keepPolicy + both + all, ""}, {keepPolicy + onlyB + all, "10.0.0.1 a @1"}, {keepPolicy + both + all, ""}, {keepPolicy + onlyB + all, "10.0.0.1 a @3"}},
		"without the policy":         {{both + all, ""}, {onlyB + all, ""}},
		"a policy that comes later":  {{both + all, ""}, {keepPolicy + onlyB + all, ""}},
		"gone":                       {{keepPolicy + both + all, ""}, {keepPolicy + onlyB + podText("10.0.0.2 b"), ""}},
		"not ready":                  {{keepPolicy + both + all, ""}, {keepPolicy + onlyB + podText("10.0.0.1 a*", "10.0.0.2 b"), ""}},
		"relabelled, and gone later": {{keepPolicy + both + all, ""}, {keepPolicy + onlyB + all, "10.0.0.1 a @1"}, {keepPolicy + onlyB + podText("10.0.0.2 b"), ""}, {keepPolicy + onlyB + all, ""}},
		"another pod has the address by now": {
			{keepPolicy + both + all, ""}, {keepPolicy + onlyB + podText("10.0.0.1 c", "10.0.0.2 b"), ""},
		},
		"it terminates, and then leaves": {{keepPolicy + both + all, ""}, {keepPolicy + sliceText("10.0.0.1 a*", "10.0.0.2 b") + all, ""}, {keepPolicy + onlyB + all, ""}},
		"slices that name no pods": {
			{keepPolicy + sliceText("10.0.0.1 ", "10.0.0.2 ") + all, ""}, {keepPolicy + sliceText("10.0.0.2 ") + all, "10.0.0.1 a @1"},
		},
		"its ports change": {{keepPolicy + both + all, ""}, {keepPolicy + strings.Replace(both, "8080", "8081", 1) + all, ""}},
		"two pods of one address": {
			{keepPolicy + sliceText("10.0.0.1 ", "10.0.0.2 ") + all + podText("10.0.0.1 c"), ""}, {keepPolicy + sliceText("10.0.0.2 ") + all + podText("10.0.0.1 c"), ""},
		},
		"slices that know the pod later": {
			{keepPolicy + sliceText("10.0.0.1 ", "10.0.0.2 ") + all, ""}, {keepPolicy + both + all, ""}, {keepPolicy + onlyB + all, "10.0.0.1 a @2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var known *backend.Selection
			for i, step := range steps {
				objects := admitSelection(t, step.documents)
				next := known.Follow(objects, time.Unix(int64(i), 500))
				if got := describeLeft(next); got != step.want {
					t.Errorf("step %d: %q, want %q", i, got, step.want)
				}
				if again := next.Follow(objects, time.Unix(1000, 0)); again != next {
					t.Errorf("step %d: the same input makes %v of %v", i, again.Pods, next.Pods)
				}
				known = recallSelection(t, next)
			}
		})
	}
}

// admitSelection gives the objects of documents.
func admitSelection(t *testing.T, documents string) *resource.Objects {
	t.Helper()
	rep := &report.Report{}
	objects, err := resource.Admit([]read.Source{{Name: "a.yaml", Data: []byte(documents)}}, resource.Options{}, rep)
	if err != nil || len(rep.Errors(true)) > 0 {
		t.Fatal(err, rep.Errors(true))
	}
	return objects
}

// recallSelection is what another process knows of it.
func recallSelection(t *testing.T, s *backend.Selection) *backend.Selection {
	t.Helper()
	text, err := json.Marshal(s.Pods)
	pods := map[string]*backend.SelectedPod{}
	if err == nil {
		err = json.Unmarshal(text, &pods)
	}
	if err != nil {
		t.Fatal(err)
	}
	return backend.NewSelection(pods)
}

// describeLeft says which pods have been left, and since which second.
func describeLeft(s *backend.Selection) string {
	var all []string
	for _, service := range (*backend.Selection)(nil).ListChanged(s) {
		for _, p := range s.LeftBy(service) {
			all = append(all, fmt.Sprintf("%s %s @%d", p.Address, p.UID, p.Left.Unix()))
		}
	}
	return strings.Join(all, ", ")
}

// TestUnseenPods holds that a policy in an input without Pods is told of, and that nothing is otherwise.
func TestUnseenPods(t *testing.T) {
	for documents, want := range map[string]string{
		keepPolicy + sliceText("10.0.0.1 a"): "spec.keepUnselected",
		strings.Replace(keepPolicy, "keepUnselected: 10m", "override: {keepUnselected: 10m}", 1) + sliceText("10.0.0.1 a"): "spec.override.keepUnselected",
		keepPolicy + sliceText("10.0.0.1 a") + podText("10.0.0.1 a"):                                                       "",
		sliceText("10.0.0.1 a"): "",
	} {
		rep := &report.Report{}
		backend.ReportUnseenPods(admitSelection(t, documents), rep)
		problems := rep.Problems()
		if got := slices.ContainsFunc(problems, func(p report.Problem) bool { return p.Path == want }); got != (want != "") || !got && len(problems) > 0 {
			t.Errorf("%v for\n%s", problems, documents)
		}
	}
}
