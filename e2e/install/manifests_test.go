package install

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/limpet-proxy/limpet/e2e/install/chart"
)

// notHere are kinds of others, whose CRDs this API server does not have.
var notHere = map[string]bool{"ServiceMonitor": true, "PrometheusRule": true, "Certificate": true}

// TestManifests: a real API server takes all that the chart makes, by server-side apply and as a dry run, with its schemas to the last
// field, in a namespace that takes restricted Pods alone; and install.yaml as a base of kustomize says the same.
func TestManifests(t *testing.T) {
	c := startCluster(t)
	s, p := newShell(t, c), readPage(t)
	s.run(t, p.blocks["In a cluster"][0])
	s.file(t, "install.yaml", installManifest(t))
	s.run(t, `kubectl apply --server-side -f install.yaml --validate=strict`)
	groups, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(groups))
	for name, values := range chart.Matrix {
		t.Run(name, func(t *testing.T) {
			for _, o := range render(t, values) {
				if notHere[o.GetKind()] {
					continue
				}
				mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
				if err != nil {
					t.Fatal(err)
				}
				var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
				if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
					resource = client.Resource(mapping.Resource).Namespace(o.GetNamespace())
				}
				_, err = resource.Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{
					FieldManager: "helm", Force: true, DryRun: []string{metav1.DryRunAll},
				})
				if err != nil {
					t.Errorf("%s: %v", chart.Title(o), err)
				}
			}
		})
	}
	t.Run("restricted Pods alone", func(t *testing.T) { c.checkPodSecurity(t) })
	t.Run("kustomize", func(t *testing.T) {
		// kubectl diff asks twice, and what a status does between is a difference: the Deployment's has come to rest.
		s.run(t, `kubectl -n limpet-system wait deployment/limpet --timeout=120s \
		  --for=jsonpath='{.status.conditions[?(@.type=="Progressing")].reason}'=NewReplicaSetAvailable
		mkdir base; cp install.yaml base; echo 'resources: [install.yaml]' > base/kustomization.yaml; kubectl diff --server-side -k base`)
	})
}

// installManifest is install.yaml as 'make deploy' makes it.
func installManifest(t *testing.T) string {
	t.Helper()
	text, err := chart.Manifest("../..")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkPodSecurity wants limpet's Pods to have been admitted, and one that is not restricted to be refused.
func (c *cluster) checkPodSecurity(t *testing.T) {
	t.Helper()
	bad := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: chart.Namespace},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "bad", Image: "bad"}}},
	}
	_, err := c.Client.CoreV1().Pods(chart.Namespace).Create(context.Background(), bad, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("a Pod that may be root is admitted: %v", err)
	}
	pods, err := c.Client.CoreV1().Pods(chart.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 {
		t.Errorf("%d Pods of limpet, %v", len(pods.Items), err)
	}
}
