// Package conformance runs Gateway API's own suite, unmodified, with its own client, on a real API server that "limpet serve" follows,
// and the tests of session persistence (sessionpersistence) after it; those on Envoy Gateway, too.
package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/apis/v1alpha2"
	"sigs.k8s.io/gateway-api/apis/v1alpha3"
	xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	"sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/conformance/sessionpersistence"
)

const (
	class = "limpet"
	ctl   = "limpet.dev/gateway-controller"
)

// server is where limpet listens for Envoys: Envoy Gateway takes the usual port.
const server = "127.0.0.1:17000"

// gatewayNetwork has the addresses of Gateways.
const gatewayNetwork = "10.244.200.0/24"

// profiles are those that limpet has.
var profiles = []suite.ConformanceProfileName{
	suite.GatewayHTTPConformanceProfileName, suite.GatewayGRPCConformanceProfileName, suite.GatewayTLSConformanceProfileName,
	suite.GatewayTCPConformanceProfileName, suite.GatewayUDPConformanceProfileName,
}

// TestConformance runs the suite on "limpet serve", and the tests of session persistence after it.
func TestConformance(t *testing.T) {
	w := newWorld(t, ctl)
	t.Run("official", func(t *testing.T) {
		o := w.newOptions(t)
		o.SkipTests = listOthers(tests.ConformanceTests)
		conformance.RunConformanceWithOptions(t, o)
	})
	awaitEmpty(t, w.c)
	t.Run("rule", func(t *testing.T) {
		report := runSessions(t, w.newOptions(t), sessionpersistence.InRule)
		if err := os.WriteFile(filepath.Join(os.Getenv("OUT"), "report-sessions.yaml"), report, 0o644); err != nil {
			t.Fatal(err)
		}
	})
	awaitEmpty(t, w.c)
	w.renewXBackend(t)
	t.Run("backend", func(t *testing.T) { runSessions(t, w.newOptions(t), sessionpersistence.InBackend) })
}

// world is a cluster with "limpet serve" and the Envoys of Gateways.
type world struct {
	config *rest.Config
	c      client.Client
}

// newWorld starts all that is not there yet; limpet takes the classes of a controller.
func newWorld(t *testing.T, controller string) *world {
	t.Helper()
	kubeconfig := os.Getenv("CLUSTER")
	if kubeconfig == "" {
		t.Skip("CLUSTER names no kubeconfig: conformance/run.sh starts one")
	}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS, cfg.Burst = 200, 400
	c, err := newClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	installCRDs(ctx, t, c, env(t, "CRDS"))
	out := env(t, "OUT")
	p := &proxies{limpet: env(t, "LIMPET"), envoy: env(t, "ENVOY"), out: out, c: c, running: map[string]*exec.Cmd{}}
	serving := p.serve(t, kubeconfig, env(t, "WASM"), controller)
	t.Cleanup(func() { _ = serving.Process.Kill() })
	go p.run(ctx)
	gatewayClass := &v1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: v1.GatewayClassSpec{ControllerName: v1.GatewayController(controller)}}
	if err := c.Create(ctx, gatewayClass); err != nil {
		t.Fatal(err)
	}
	awaitFeatures(ctx, t, c)
	return &world{config: cfg, c: c}
}

func env(t *testing.T, name string) string {
	v, err := filepath.Abs(os.Getenv(name))
	if err != nil || os.Getenv(name) == "" {
		t.Fatal("set " + name)
	}
	return v
}

func newClient(cfg *rest.Config) (client.Client, error) {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, err
	}
	for _, install := range []func() error{
		func() error { return v1.Install(c.Scheme()) }, func() error { return v1alpha2.Install(c.Scheme()) },
		func() error { return v1alpha3.Install(c.Scheme()) }, func() error { return xv1alpha1.Install(c.Scheme()) },
		func() error { return apiextensionsv1.AddToScheme(c.Scheme()) },
	} {
		if err := install(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// installCRDs installs those of a folder.
func installCRDs(ctx context.Context, t *testing.T, c client.Client, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "gateway*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d CRDs in %s: %v", len(files), dir, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, o); err != nil {
			t.Fatal(err)
		}
		if o.Kind != "CustomResourceDefinition" {
			continue // a policy about which versions may replace which
		}
		if err := c.Create(ctx, o); err != nil {
			t.Fatal(file, err)
		}
	}
}

// newXBackend is the CRD of XBackend from the first release in which it has session persistence; the suite's own has none.
const newXBackend = "../internal/compiler/admission/crds/1.7/XBackend.gateway.networking.x-k8s.io.json"

// renewXBackend puts that in the place of the suite's own, and has it say the suite's version, of which all must be.
func (w *world) renewXBackend(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(newXBackend)
	if err != nil {
		t.Fatal(err)
	}
	o, old := &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, o); err != nil {
		t.Fatal(err)
	}
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(o), old); err != nil {
		t.Fatal(err)
	}
	o.Annotations = old.Annotations
	if err := w.c.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if last = w.c.Create(t.Context(), o.DeepCopy()); last == nil {
			return
		}
	}
	t.Fatal(last) // the old one was not gone
}

// patience is how long what must come may take, on a machine that is busy.
const patience = 5 * time.Minute

// awaitFeatures waits until limpet has said what it can do, by which the suite chooses its tests.
func awaitFeatures(ctx context.Context, t *testing.T, c client.Client) {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		o := &v1.GatewayClass{}
		if err := c.Get(ctx, client.ObjectKey{Name: class}, o); err == nil && len(o.Status.SupportedFeatures) > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the GatewayClass has no features within %v", patience)
		}
	}
}

// awaitEmpty waits until the namespaces are gone that the suite has deleted, for it makes them again.
func awaitEmpty(t *testing.T, c client.Client) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		var namespaces corev1.NamespaceList
		err := c.List(t.Context(), &namespaces)
		if err == nil && !slices.ContainsFunc(namespaces.Items, func(n corev1.Namespace) bool { return n.DeletionTimestamp != nil }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the suite's namespaces are not gone within %v", patience)
		}
	}
}

// newOptions are the suite's own, but for who it is about.
func (w *world) newOptions(t *testing.T) suite.ConformanceOptions {
	cs, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	return suite.ConformanceOptions{
		ConfigurableOptions: suite.ConfigurableOptions{
			GatewayClassName: class, CleanupBaseResources: true, CleanupTestResources: true, Mode: "default",
			TimeoutConfig: config.DefaultTimeoutConfig(), ConformanceProfiles: profiles, ReportOutputPath: filepath.Join(os.Getenv("OUT"), "report.yaml"),
			Implementation: confv1.Implementation{
				Organization: "limpet-proxy", Project: "limpet", URL: "https://github.com/limpet-proxy/limpet", Version: env0("VERSION", "unreleased"),
				Contact: []string{"https://github.com/limpet-proxy/limpet/issues"},
			},
		},
		Client: w.c, Clientset: cs, RestConfig: w.config, ManifestFS: []fs.FS{&conformance.Manifests},
	}
}

func env0(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// listOthers lists the tests that are not to run, if TESTS names those that are.
func listOthers(all []suite.ConformanceTest) (names []string) {
	named := strings.Split(os.Getenv("TESTS"), ",")
	for _, test := range all {
		if named[0] != "" && !slices.Contains(named, test.ShortName) {
			names = append(names, test.ShortName)
		}
	}
	return names
}

// runSessions runs the tests of session persistence in a place, and gives their report.
func runSessions(t *testing.T, o suite.ConformanceOptions, place sessionpersistence.Place) []byte {
	all := sessionpersistence.Tests(place)
	o.ManifestFS = append(o.ManifestFS, sessionpersistence.Manifests)
	o.ConformanceProfiles = []suite.ConformanceProfileName{sessionpersistence.ProfileName}
	o.SupportedFeatures = append(sessionpersistence.Profile.ExtendedFeatures.UnsortedList(), features.SupportGateway, features.SupportHTTPRoute)
	o.SkipTests = listOthers(all)
	s, err := suite.NewConformanceTestSuite(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("tests", func(t *testing.T) {
		s.Setup(t, all)
		if err := s.Run(t, all); err != nil {
			t.Fatal(err)
		}
	})
	report, err := s.Report()
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// proxies are "limpet serve", and an Envoy for each Gateway.
type proxies struct {
	limpet, envoy, out string
	c                  client.Client
	root               string
	running            map[string]*exec.Cmd // by Gateways
	made               int
}

// start starts a program whose output goes into a file, and which ends with this process.
func (p *proxies) start(log string, environment []string, name string, args ...string) (*exec.Cmd, error) {
	file, err := os.OpenFile(filepath.Join(p.out, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	command := exec.Command(name, args...)
	command.Stdout, command.Stderr, command.Env = file, file, append(os.Environ(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command, command.Start()
}

// serve starts "limpet serve" with keys that it makes itself.
func (p *proxies) serve(t *testing.T, kubeconfig, wasm, controller string) *exec.Cmd {
	root := filepath.Join(p.out, "root.txt")
	_ = os.Remove(root)
	if text, err := exec.Command(p.limpet, "keygen", "--root", "-o", root).CombinedOutput(); err != nil {
		t.Fatalf("limpet keygen: %v\n%s", err, text)
	}
	text, err := os.ReadFile(root)
	if err != nil {
		t.Fatal(err)
	}
	p.root = strings.TrimSpace(string(text))
	serving, err := p.start("serve.log", nil, p.limpet, "serve", "--kubeconfig", kubeconfig, "--system-namespace", "default", "--controller-name", controller,
		"--filter-path", wasm, "--keys", "secret/limpet-keys", "--root", root, "--address-pool", gatewayNetwork,
		"--listen", server, "--admin", "none")
	if err != nil {
		t.Fatal(err)
	}
	return serving
}

// run has an Envoy run for each Gateway of limpet's class, as long as there is one.
func (p *proxies) run(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		var gateways v1.GatewayList
		if err := p.c.List(ctx, &gateways); err != nil {
			continue
		}
		there := map[string]bool{}
		for i := range gateways.Items {
			key := gateways.Items[i].Namespace + "/" + gateways.Items[i].Name
			if gateways.Items[i].Spec.GatewayClassName != class {
				continue
			}
			there[key] = true
			if p.running[key] == nil {
				p.begin(key)
			}
		}
		for key, command := range p.running {
			if !there[key] {
				_ = command.Process.Kill()
				_ = command.Wait()
				delete(p.running, key)
			}
		}
	}
	for command := range maps.Values(p.running) {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
}

// begin starts the Envoy of a Gateway.
func (p *proxies) begin(key string) {
	p.made++
	admin := fmt.Sprintf("127.0.0.1:%d", 30000+p.made)
	text, err := exec.Command(p.limpet, "bootstrap", "--gateway", key, "--server", server, "--admin", admin).Output()
	if err != nil {
		fmt.Println("harness: limpet bootstrap", key, err)
		return
	}
	name := strings.ReplaceAll(key, "/", "-")
	file := filepath.Join(p.out, name+".yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		fmt.Println("harness:", err)
		return
	}
	command, err := p.start(name+".log", []string{"LIMPET_ROOT=" + p.root}, p.envoy, "-c", file, "--concurrency", "1", "--use-dynamic-base-id",
		"--log-level", "warning")
	if err != nil {
		fmt.Println("harness:", err)
		return
	}
	p.running[key] = command
}
