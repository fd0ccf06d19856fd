package serve

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

var (
	kindLine = regexp.MustCompile(`(?m)^kind: (\w+)$`)
	nameLine = regexp.MustCompile(`(?m)^metadata: {name: ([\w-]+)`)
)

// applyObjects applies documents as those of an API server, each a source of its own.
func applyObjects(t *testing.T, o *Output, keys policyconfig.Keys, text string) livereload.Inputs {
	t.Helper()
	in := livereload.Inputs{Keys: keys}
	for _, one := range strings.Split(text, "\n---\n") {
		name := kindLine.FindStringSubmatch(one)[1] + "/default/" + nameLine.FindStringSubmatch(one)[1]
		in.Sources = append(in.Sources, compiler.Source{Name: name, Data: []byte(one)})
	}
	slices.SortFunc(in.Sources, func(a, b compiler.Source) int { return strings.Compare(a.Name, b.Name) })
	result, err := o.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Apply(t.Context(), time.Now(), result); err != nil {
		t.Fatal(err)
	}
	return in
}

// conditionOf gives a condition of a Gateway: its status, its reason and its message.
func conditionOf(t *testing.T, o *Output, in livereload.Inputs, gateway, kind string) string {
	t.Helper()
	checked, err := o.Check(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range checked.Objects {
		if s, is := object.Status.(gatewayv1.GatewayStatus); is && object.Metadata.Name == gateway {
			at := slices.IndexFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
			if at >= 0 {
				c := s.Conditions[at]
				return string(c.Status) + " " + c.Reason + ": " + c.Message
			}
		}
	}
	return ""
}

// TestDryRun: a Gateway that is tried goes on as it was, but for endpoints; its status says what would change, sessions that end first;
// and all of that comes when the annotation goes. Other Gateways' changes go on, and one that was tried before limpet began keeps what
// it has.
func TestDryRun(t *testing.T) {
	o, keys := newOutput(t)
	o.Admitted = true
	was := withCertificate(t, strings.Replace(podDocuments, "[{backendRefs: [{name: search, port: 80}]}]",
		"[{name: all, backendRefs: [{name: search, port: 80}], sessionPersistence: {sessionName: SEARCH}}]", 1))
	applyObjects(t, o, keys, was)
	before := o.Server.Latest("default/two")

	tried := strings.NewReplacer(
		"name: two, namespace: default", `name: two, namespace: default, annotations: {limpet.dev/dry-run: "true"}`,
		"sessionName: SEARCH", "sessionName: FIND", "sessionName: CART", "sessionName: BASKET",
		"[{name: web, protocol: HTTP, port: 443}]", "[{name: web, protocol: HTTP, port: 443}, {name: more, protocol: HTTP, port: 444}]",
	).Replace(was)
	in := applyObjects(t, o, keys, tried)
	if now := o.Server.Latest("default/two"); now.Generation != before.Generation {
		t.Error("a dry run changes what is served")
	}
	if !strings.Contains(o.Server.Latest("default/one").Resources(xds.Routes)[0].Body.String(), "BASKET") {
		t.Error("a dry run holds up another Gateway's change")
	}
	said := conditionOf(t, o, in, "two", v1alpha1.ConditionDryRun)
	for _, want := range []string{
		"True Changes: ", "the sessions of HTTPRoute default/search spec.rules[0] end: ", "listener listener/0.0.0.0/444 is new",
		"host * of listener/0.0.0.0/443 is answered otherwise",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the Gateway's status says %q, and not %q", said, want)
		}
	}
	if strings.Contains(said, "cart") || !strings.HasPrefix(conditionOf(t, o, in, "two", "Programmed"), "False Pending") {
		t.Errorf("%q, %q", said, conditionOf(t, o, in, "two", "Programmed"))
	}

	moved := strings.Replace(tried, "10.0.1.1", "10.0.1.2", 1)
	applyObjects(t, o, keys, moved)
	now := o.Server.Latest("default/two")
	if !strings.Contains(now.Resources(xds.Endpoint)[0].Body.String(), "10.0.1.2") {
		t.Error("endpoints wait for a dry run")
	}
	if names(now, xds.Listener) != names(before, xds.Listener) || now.Resources(xds.Routes)[0].Version != before.Resources(xds.Routes)[0].Version {
		t.Error("new endpoints change what is tried")
	}

	in = applyObjects(t, o, keys, strings.ReplaceAll(moved, `, annotations: {limpet.dev/dry-run: "true"}`, ""))
	if got := names(o.Server.Latest("default/two"), xds.Listener); got != "listener/0.0.0.0/443 listener/0.0.0.0/444" {
		t.Errorf("after the dry run there are %q", got)
	}
	if said := conditionOf(t, o, in, "two", v1alpha1.ConditionDryRun); said != "" {
		t.Errorf("after the dry run the status says %q", said)
	}

	later, keys := newOutput(t)
	later.Admitted = true
	in = applyObjects(t, later, keys, tried)
	if later.Server.Latest("default/two") != nil || later.Server.Latest("default/one") == nil {
		t.Error("one that began after the dry run serves what is tried, or not what else there is")
	}
	if said := conditionOf(t, later, in, "two", v1alpha1.ConditionDryRun); !strings.HasPrefix(said, "Unknown NotKnown: ") {
		t.Errorf("its status says %q", said)
	}
}

// TestDryRunHasNews: what would change can be another thing with nothing but another pod, and is found out then.
func TestDryRunHasNews(t *testing.T) {
	o, keys := newOutput(t)
	o.Admitted = true
	inner, asked := o.Options, 0
	o.Options = func(in livereload.Inputs) compiler.Options {
		of := inner(in)
		return of
	}
	o.Notify = func() { asked++ }
	was := withCertificate(t, strings.Replace(podDocuments, "[{backendRefs: [{name: search, port: 80}]}]",
		"[{name: all, backendRefs: [{name: search, port: 80}], sessionPersistence: {sessionName: SEARCH}}]", 1)) + `
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: search, namespace: default}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: search}], identity: Pod}
`
	applyObjects(t, o, keys, was)
	tried := strings.NewReplacer("identity: Pod", "identity: Address",
		"name: two, namespace: default", `name: two, namespace: default, annotations: {limpet.dev/dry-run: "true"}`).Replace(was)
	first := conditionOf(t, o, applyObjects(t, o, keys, tried), "two", v1alpha1.ConditionDryRun)
	before := asked
	in := applyObjects(t, o, keys, strings.Replace(tried, "uid: first", "uid: second", 1))
	if now := conditionOf(t, o, in, "two", v1alpha1.ConditionDryRun); now == first || asked == before {
		t.Errorf("the status says %q, and said %q; statuses are asked for: %v", now, first, asked > before)
	}
}

const third = `
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: three, namespace: default}
spec: {gatewayClassName: limpet, listeners: [{name: web, protocol: HTTP, port: 445}]}
`

// TestDryRunsShare: Gateways that are tried from the same moment on go on by the same objects, which are followed once, however many they are;
// what nobody goes on by any more is followed no more. A namespace has two beginnings at a time: the Gateway of a third keeps what it has, and
// says why.
func TestDryRunsShare(t *testing.T) {
	o, keys := newOutput(t)
	o.Admitted = true
	was := withCertificate(t, podDocuments+third)
	const dry = `, annotations: {limpet.dev/dry-run: "true"}`
	annotate := func(text string, names ...string) string {
		for _, name := range names {
			text = strings.Replace(text, "name: "+name+", namespace: default}", "name: "+name+", namespace: default"+dry+"}", 1)
		}
		return text
	}
	for _, step := range []struct {
		tried []string
		want  int
	}{
		{nil, 0},
		{[]string{"one", "two"}, 1},
		{[]string{"two"}, 1},
		{[]string{"two", "one"}, 2},
		{[]string{"two", "one", "three"}, 2}, // one too many
		{[]string{"one"}, 1},
		{nil, 0},
	} {
		before := o.Server.Latest("default/three")
		in := applyObjects(t, o, keys, annotate(was, step.tried...))
		if slices.Contains(step.tried, "three") {
			said := conditionOf(t, o, in, "three", v1alpha1.ConditionDryRun)
			if !strings.HasPrefix(said, "Unknown TooMany: ") || o.Server.Latest("default/three") != before {
				t.Errorf("the third has another configuration, or its status says %q", said)
			}
		}
		if n := len(o.listFrozen()); n != step.want || len(o.dryRuns) != len(step.tried) {
			t.Errorf("while %v are tried, %d dry runs go on by %d states, want %d", step.tried, len(o.dryRuns), n, step.want)
		}
	}
}
