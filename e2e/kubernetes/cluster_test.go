package kubernetes

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
)

// cluster is an API server with its etcd, without nodes and controllers.
type cluster struct {
	folder   string
	etcd     *exec.Cmd
	server   *exec.Cmd
	config   *rest.Config
	client   dynamic.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	programs string
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
	if s.cluster == nil {
		return
	}
	s.end(s.server) // before etcd, without which it does not end
	s.end(s.etcd)
	_ = os.RemoveAll(s.folder)
}

func (c *cluster) end(command *exec.Cmd) {
	if command != nil && command.Process != nil {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}
}

// The users: one who may do everything, and limpet.
const (
	adminToken  = "admin-token"
	limpetToken = "limpet-token"
)

func newCluster() (*cluster, error) {
	folder, err := os.MkdirTemp("", "limpet-kubernetes")
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, programs: os.Getenv("KUBERNETES")}
	if c.programs == "" {
		return c, errors.New("KUBERNETES names no folder of a control plane: 'make e2e-kubernetes' builds one")
	}
	if err := errors.Join(c.writeFiles(), c.startEtcd(), c.startServer()); err != nil {
		return c, err
	}
	c.config = &rest.Config{
		Host: "https://127.0.0.1:26443", BearerToken: adminToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	if err := c.awaitReady(); err != nil {
		return c, err
	}
	if c.client, err = dynamic.NewForConfig(c.config); err != nil {
		return c, err
	}
	groups, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return c, err
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(groups))
	return c, c.installCRDs()
}

func (c *cluster) writeFiles() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	files := map[string]string{
		"sa.key":     string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"sa.pub":     string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		"tokens.csv": adminToken + `,admin,admin,"system:masters"` + "\n" + limpetToken + ",limpet,limpet\n",
	}
	for name, token := range map[string]string{"kubeconfig": adminToken, "kubeconfig-limpet": limpetToken} {
		files[name] = `{apiVersion: v1, kind: Config, current-context: x,
clusters: [{name: c, cluster: {server: "https://127.0.0.1:26443", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {token: ` + token + `}}], contexts: [{name: x, context: {cluster: c, user: u}}]}` + "\n"
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600))
	}
	return err
}

// kubeconfig is the path of a file that leads to the API server.
func (c *cluster) kubeconfig() string { return filepath.Join(c.folder, "kubeconfig") }

func (c *cluster) startEtcd() (err error) {
	c.etcd, err = c.launch("etcd", "--data-dir", "data", "--unsafe-no-fsync",
		"--listen-client-urls", "http://127.0.0.1:23791", "--advertise-client-urls", "http://127.0.0.1:23791",
		"--listen-peer-urls", "http://127.0.0.1:23801", "--initial-advertise-peer-urls", "http://127.0.0.1:23801",
		"--initial-cluster", "default=http://127.0.0.1:23801")
	return err
}

func (c *cluster) startServer() (err error) {
	c.server, err = c.launch("kube-apiserver", "--etcd-servers=http://127.0.0.1:23791", "--bind-address=127.0.0.1",
		"--secure-port=26443", "--cert-dir=certs", "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC",
		"--token-auth-file=tokens.csv", "--service-account-issuer=https://127.0.0.1:26443",
		"--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none")
	return err
}

// launch starts a program of the control plane, which ends with this process.
func (c *cluster) launch(name string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(c.folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(filepath.Join(c.programs, name), args...)
	command.Dir, command.Stdout, command.Stderr = c.folder, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command, command.Start()
}

// readyWithin is how long the API server may take to start, on a machine that does much else.
const readyWithin = 2 * time.Minute

func (c *cluster) awaitReady() error {
	client, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(readyWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := client.Get(c.config.Host + "/readyz")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	text, _ := os.ReadFile(filepath.Join(c.folder, "kube-apiserver.log"))
	return fmt.Errorf("the API server is not ready within %v:\n%s", readyWithin, text[max(0, len(text)-2000):])
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
	for deadline := time.Now().Add(10 * time.Second); meta.IsNoMatchError(err) && time.Now().Before(deadline); {
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
