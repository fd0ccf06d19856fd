package install

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/limpet-proxy/limpet/e2e/install/chart"
)

// grant is something that a role lets limpet do; empty names are any.
type grant struct{ Verb, Group, Resource, Namespace, Name string }

// grants are those of the chart's roles, as fine as they can be told apart.
func grants(t *testing.T, objects []*unstructured.Unstructured) (all []grant) {
	t.Helper()
	for _, o := range objects {
		var role rbacv1.Role
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						for _, name := range names {
							all = append(all, grant{verb, group, resource, o.GetNamespace(), name})
						}
					}
				}
			}
		}
	}
	return all
}

// covers tells whether a grant is one that a request needs.
func (g grant) covers(r request) bool {
	return g.Verb == r.Verb && g.Group == r.Group && g.Resource == r.Resource &&
		(g.Namespace == "" || g.Namespace == r.Namespace) && (g.Name == "" || g.Name == r.Name)
}

// unused are the grants that no request has needed so far.
func unused(all []grant, requests map[request]bool) (left []grant) {
	for _, g := range all {
		used := false
		for r := range requests {
			used = used || g.covers(r)
		}
		if !used {
			left = append(left, g)
		}
	}
	return left
}

// TestRoles: limpet uses each thing that the chart's roles let it do, and asks for nothing else. The API server notes its requests, while
// objects of all kinds come, change and get statuses, keys rotate, certificates are renewed, and Envoys connect.
func TestRoles(t *testing.T) {
	// An API server of before 1.34 has no lists that are watches' beginnings, so that limpet lists.
	c := startCluster(t, "--feature-gates=WatchList=false")
	s, p := newShell(t, c), readPage(t)
	objects := render(t, "")
	all := grants(t, objects)
	if len(all) < 60 {
		t.Fatalf("only %d grants", len(all))
	}
	s.run(t, p.blocks["In a cluster"][0])
	s.file(t, "contour.yaml", readFile(t, "testdata/contour.yaml"))
	s.file(t, "kinds.yaml", readFile(t, "testdata/kinds.yaml"))
	manifests := installManifest(t)
	s.file(t, "install.yaml", manifests)
	s.run(t, `kubectl apply -f contour.yaml; kubectl apply --server-side -f install.yaml; kubectl -n limpet-system rollout status deployment/limpet --timeout=120s`)
	s.run(t, p.blocks["The first Gateway"][0])
	s.run(t, p.blocks["Its Envoys"][0])
	s.run(t, `kubectl apply -f kinds.yaml`)
	// a ring whose key has signed for long enough
	s.run(t, fmt.Sprintf(`limpet keygen --id old | sed 's/"id":"old"/"id":"old","notBefore":"%s"/' > keys.json
kubectl -n limpet-system create secret generic limpet-keys --type limpet.dev/keys --from-file=keys.json --dry-run=client -o yaml |
  kubectl apply --server-side --force-conflicts -f -`, time.Now().Add(-40*24*time.Hour).UTC().Format(time.RFC3339)))
	// a server of another name
	s.file(t, "install.yaml", strings.Replace(manifests, "--tls-names=", "--tls-names=edge.example,", 1))
	s.run(t, `kubectl apply --server-side -f install.yaml; kubectl -n limpet-system rollout status deployment/limpet --timeout=120s`)
	broken := `kubectl -n kinds patch httproute http --type json -p '[{"op": "replace", "path": "/spec/rules/0/backendRefs/0/name", "value": "%s"}]'`
	for i := range 20 {
		s.run(t, fmt.Sprintf(broken, []string{"nowhere", "app"}[i%2]))
		s.file(t, "slice.yaml", terminating(i))
		s.run(t, "kubectl apply -f slice.yaml")
		time.Sleep(3 * time.Second)
		if requests, _ := c.requests(t); len(unused(all, requests)) == 0 {
			break
		}
	}
	requests, refused := c.requests(t)
	for _, g := range unused(all, requests) {
		t.Errorf("nothing needs this: %+v", g)
	}
	for r := range refused {
		t.Errorf("this is refused: %+v", r)
	}
	for r := range requests {
		if !slices.ContainsFunc(all, func(g grant) bool { return g.covers(r) }) {
			t.Errorf("no rule of the chart's is for this: %+v", r)
		}
	}
	fmt.Printf("roles: %d grants, %d different requests\n", len(all), len(requests))
}

// terminating is an EndpointSlice with many hosts that terminate, others each time: limpet remembers since when.
func terminating(round int) string {
	text := fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: app-%d, namespace: kinds, labels: {kubernetes.io/service-name: app}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
`, round)
	for i := range 80 {
		text += fmt.Sprintf("- {addresses: [10.244.%d.%d], conditions: {ready: false, serving: true, terminating: true}}\n", 20+round, i+1)
	}
	return text
}

// file writes a file where the shell is.
func (s shell) file(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(s.folder+"/"+name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func render(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	c, err := chart.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := chart.Render(c, chart.Values(values))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
