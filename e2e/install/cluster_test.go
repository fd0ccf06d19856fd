package install

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// serverPort is the API server's.
const serverPort = "26443"

// cluster is a control plane: API server, controllers, scheduler and etcd, with one node.
type cluster struct {
	folder, programs string
	running          []*exec.Cmd // in the order in which they ended shall be
	config           *rest.Config
	client           kubernetes.Interface
	*node
}

// startCluster starts a control plane for a test, and a node. Nothing of limpet or of Gateway API is in it. Flags are the API server's.
func startCluster(t *testing.T, flags ...string) *cluster {
	t.Helper()
	folder, err := os.MkdirTemp("", "limpet-install")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // containers' users read volumes in it
		t.Fatal(err)
	}
	c := &cluster{folder: folder, programs: os.Getenv("KUBERNETES")}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() {
		stop()
		c.stop()
		if t.Failed() {
			c.tellLogs(t)
		}
		_ = os.RemoveAll(folder)
	})
	if err := c.start(flags); err != nil {
		t.Fatal(err)
	}
	c.node = &node{
		client: c.client, folder: folder, limpet: buildLimpet(t, folder), envoy: os.Getenv("ENVOY"),
		pods: map[string]*pod{}, forwarded: map[string]*forward{}, hosts: map[string]string{},
	}
	if err := os.WriteFile(c.hostsFile(), []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.register(ctx); err != nil {
		t.Fatal(err)
	}
	go c.run(ctx)
	return c
}

// buildLimpet builds what the image of limpet has: a program that needs nothing else.
func buildLimpet(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "limpet")
	build := exec.Command("go", "build", "-C", "../..", "-buildvcs=false", "-trimpath", "-tags", "kustomize_disable_go_plugin_support",
		"-ldflags", "-s -w -X main.version=v0.1.0", "-o", path, "./cmd/limpet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return path
}

func (c *cluster) start(flags []string) error {
	if err := c.writeFiles(); err != nil {
		return err
	}
	steps := [][]string{
		{
			"etcd", "--data-dir", "data", "--unsafe-no-fsync", "--listen-client-urls", "http://127.0.0.1:23791", "--advertise-client-urls",
			"http://127.0.0.1:23791", "--listen-peer-urls", "http://127.0.0.1:23801", "--initial-advertise-peer-urls", "http://127.0.0.1:23801",
			"--initial-cluster", "default=http://127.0.0.1:23801",
		},
		{
			"kube-apiserver", "--etcd-servers=http://127.0.0.1:23791", "--bind-address=0.0.0.0", "--secure-port=" + serverPort, "--cert-dir=certs",
			"--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC", "--token-auth-file=tokens.csv",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
			"--advertise-address=" + nodeAddress, "--endpoint-reconciler-type=none", "--audit-policy-file=audit.yaml", "--audit-log-path=audit.log",
		},
	}
	steps[1] = append(steps[1], flags...)
	for _, step := range steps {
		if err := c.launch(step[0], step[1:]...); err != nil {
			return err
		}
	}
	c.config = &rest.Config{
		Host: "https://127.0.0.1:" + serverPort, BearerToken: adminToken, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	if err := c.awaitReady(); err != nil {
		return err
	}
	var err error
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return err
	}
	return errors.Join(
		c.launch("kube-controller-manager", "--kubeconfig=kubeconfig", "--service-account-private-key-file=sa.key", "--leader-elect=false",
			"--controllers=*,-nodeipam,-nodelifecycle,-route,-cloud-node-lifecycle", "--bind-address=127.0.0.1", "--root-ca-file=certs/apiserver.crt",
			"--use-service-account-credentials=true"),
		c.launch("kube-scheduler", "--kubeconfig=kubeconfig", "--leader-elect=false", "--bind-address=127.0.0.1"),
	)
}

// adminToken is that of who may do everything.
const adminToken = "admin-token"

// auditPolicy has the API server note each request of limpet.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: ["system:serviceaccount:limpet-system:limpet"]
- level: None
`

func (c *cluster) writeFiles() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"sa.key":     string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"sa.pub":     string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		"tokens.csv": adminToken + `,admin,admin,"system:masters"` + "\n",
		"audit.yaml": auditPolicy,
		"kubeconfig": `{apiVersion: v1, kind: Config, current-context: x,
clusters: [{name: c, cluster: {server: "https://127.0.0.1:` + serverPort + `", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {token: ` + adminToken + `}}], contexts: [{name: x, context: {cluster: c, user: u}}]}` + "\n",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600))
	}
	return err
}

// launch starts a program of the control plane, which ends with this process.
func (c *cluster) launch(name string, args ...string) error {
	log, err := os.Create(filepath.Join(c.folder, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(filepath.Join(c.programs, name), args...)
	command.Dir, command.Stdout, command.Stderr = c.folder, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return err
	}
	c.running = append([]*exec.Cmd{command}, c.running...)
	return nil
}

func (c *cluster) stop() {
	if c.node != nil {
		c.killPods()
	}
	for _, command := range c.running { // etcd comes last: without it the API server does not end
		_ = command.Process.Signal(syscall.SIGKILL)
		_ = command.Wait()
	}
}

// killPods ends all containers.
func (n *node) killPods() {
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, p := range n.pods {
		for _, command := range p.commands {
			_ = command.Process.Kill()
		}
		if p.pause != nil {
			_ = p.pause.Process.Kill()
		}
	}
}

// tellLogs prints the end of each container's log.
func (c *cluster) tellLogs(t *testing.T) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(c.folder, "pods/*/log"))
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		t.Logf("%s:\n%s", filepath.Base(filepath.Dir(log)), text[max(0, len(text)-3000):])
	}
}

// readyWithin is how long the API server may take to start, on a machine that does much else.
const readyWithin = 2 * time.Minute

func (c *cluster) awaitReady() error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // of this test
	for deadline := time.Now().Add(readyWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequest(http.MethodGet, c.config.Host+"/readyz", nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+adminToken)
		response, err := client.Do(request)
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

// request is what limpet has asked the API server for.
type request struct{ Verb, Group, Resource, Namespace, Name string }

// requests are those of limpet so far, and those that were refused.
func (c *cluster) requests(t *testing.T) (all, refused map[request]bool) {
	t.Helper()
	file, err := os.Open(filepath.Join(c.folder, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, refused = map[request]bool{}, map[request]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb           string
			ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line may not be whole
		}
		o := event.ObjectRef
		if o.Resource == "" {
			continue // discovery, which everyone may
		}
		r := request{event.Verb, o.APIGroup, strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), o.Namespace, o.Name}
		all[r] = true
		if event.ResponseStatus.Code == http.StatusForbidden {
			refused[r] = true
		}
	}
	return all, refused
}
