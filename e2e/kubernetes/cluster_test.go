package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// cluster is an API server with its etcd, without nodes and controllers.
type cluster struct {
	*standin.Plane
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// controlPlane is that of all tests; each test has namespaces of its own.
var controlPlane = &sharedCluster{}

type sharedCluster struct {
	once sync.Once
	*cluster
	err error
}

// startCluster gives the tests' API server, with the CRDs of Gateway API and of limpet.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	controlPlane.once.Do(func() { controlPlane.cluster, controlPlane.err = newCluster() })
	if controlPlane.err != nil {
		t.Fatal(controlPlane.err)
	}
	return controlPlane.cluster
}

func (s *sharedCluster) stop() {
	if s.cluster != nil {
		s.Stop()
	}
}

func newCluster() (*cluster, error) {
	plane, err := standin.StartPlane(standin.Options{})
	if err != nil {
		return nil, err
	}
	c := &cluster{Plane: plane}
	if c.client, err = dynamic.NewForConfig(c.Config); err != nil {
		return c, err
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	return c, c.installCRDs()
}

// startNode starts a node that is this machine and has what its Pods run, with the controllers, until the test ends. If that has failed,
// the Pods' logs are told.
func (c *cluster) startNode(t *testing.T, images map[string]standin.Image, hosts map[string][]string) *standin.Node {
	t.Helper()
	node, err := c.StartNode(images, hosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(node.Logs())
		}
		node.Stop() // with its Pods
	})
	if err := c.StartControllers(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.StopControllers)
	return node
}

// changeKubeconfig gives the administrator's kubeconfig with other words in the place of some that it has.
func (c *cluster) changeKubeconfig(t *testing.T, old, new string) string {
	t.Helper()
	text := readFile(t, c.Kubeconfig(standin.AdminToken))
	if !strings.Contains(text, old) {
		t.Fatalf("the kubeconfig has no %q", old)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(strings.Replace(text, old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// installCRDs installs the CRDs of Gateway API's experimental channel, and limpet's own.
func (c *cluster) installCRDs() error {
	texts := api.CRDs()
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), "config/crd/experimental/gateway*.yaml"))
	if err != nil || len(files) < 5 {
		return fmt.Errorf("%d CRDs of Gateway API: %w", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		if err := c.apply(context.Background(), string(text)); err != nil {
			return err
		}
	}
	return nil
}

// apply creates or changes the objects of a text, and waits for CRDs that come first.
func (c *cluster) apply(ctx context.Context, text string) error {
	for _, document := range strings.Split(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		resource, err := c.resourceOf(o)
		if err != nil {
			return err
		}
		_, err = resource.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
		if err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// resourceOf gives access to the objects of the same kind and namespace.
func (c *cluster) resourceOf(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	for deadline := time.Now().Add(patience); meta.IsNoMatchError(err) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.client.Resource(mapping.Resource), nil
	}
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return c.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// set applies a text, which must succeed.
func (c *cluster) set(t *testing.T, text string) {
	t.Helper()
	if err := c.apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// object names one: "HTTPRoute shop/cart", of a group and version.
func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// get gives an object as it is now; nil if there is none.
func (c *cluster) get(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	resource, err := c.resourceOf(o)
	if err != nil {
		t.Fatal(err)
	}
	now, err := resource.Get(t.Context(), o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// list gives all objects of the kind and namespace of one.
func (c *cluster) list(t *testing.T, of *unstructured.Unstructured) []unstructured.Unstructured {
	t.Helper()
	resource, err := c.resourceOf(of)
	if err != nil {
		t.Fatal(err)
	}
	all, err := resource.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// remove deletes an object, which must be there.
func (c *cluster) remove(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	resource, err := c.resourceOf(o)
	if err == nil {
		err = resource.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// create creates an object that is not there.
func create(t *testing.T, resource dynamic.ResourceInterface, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := resource.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
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
