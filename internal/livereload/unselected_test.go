package livereload

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
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
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "unselected.json")
			for i, step := range steps {
				u, err := NewUnselected(file)
				must(t, err)
				sources, err := u.Extend([]compiler.Source{{Name: "a.yaml", Data: []byte(step.documents)}}, "", time.Unix(int64(i), 500))
				must(t, err)
				if got := describeKept(sources[1:]); got != step.want {
					t.Errorf("step %d: %q, want %q", i, got, step.want)
				}
			}
		})
	}
}

// describeKept says which pods the added source stands for, and since which second: it is read as any other.
func describeKept(added []compiler.Source) string {
	var r sourceReader
	var all []string
	for _, s := range added {
		s.Data = append([]byte("# "+string(keepWord)+"\n"), s.Data...)
		r.read([]compiler.Source{s}, "default")
		for _, slice := range r.known[s.Name].slices {
			since, _ := time.Parse(time.RFC3339, slice.Annotations["limpet.dev/unselected-since"])
			e := slice.Endpoints[0]
			all = append(all, fmt.Sprintf("%s %s @%d", e.Addresses[0], e.TargetRef.UID, since.Unix()))
		}
	}
	return strings.Join(all, ", ")
}

// TestUnselectedSaysWhatIsMissing holds that a policy in an input without Pods is told of, and that nothing is otherwise.
func TestUnselectedSaysWhatIsMissing(t *testing.T) {
	for documents, want := range map[string]bool{
		keepPolicy + sliceText("10.0.0.1 a"):                         true,
		keepPolicy + sliceText("10.0.0.1 a") + podText("10.0.0.1 a"): false,
		sliceText("10.0.0.1 a"):                                      false,
	} {
		u, err := NewUnselected("")
		must(t, err)
		if _, err := u.Extend([]compiler.Source{{Name: "a.yaml", Data: []byte(documents)}}, "", time.Now()); err != nil || (u.Problem() != nil) != want {
			t.Errorf("%v, %v for\n%s", err, u.Problem(), documents)
		}
	}
}
