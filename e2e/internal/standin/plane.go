package standin

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Plane is a control plane: an API server with its etcd, and, where they are started, Kubernetes' own controllers and
// scheduler.
type Plane struct {
	// Folder has all of its files, the programs' logs among them.
	Folder string
	// Config and Client are those of who may do everything.
	Config *rest.Config
	Client *kubernetes.Clientset

	options Options
	running map[string]*exec.Cmd
}

// Options are about the API server.
type Options struct {
	// Files are put into its folder, by their names.
	Files map[string]string
	// Flags come after its others.
	Flags []string
}

// The users: one who may do everything, and limpet, who may do what roles say.
const (
	AdminToken  = "admin-token"
	LimpetToken = "limpet-token"
)

// tokens has those of users, as files of tokens say it.
var tokens = map[string]string{AdminToken: `admin,admin,"system:masters"`, LimpetToken: "limpet,limpet"}

const (
	// URL is the API server's.
	URL = "https://127.0.0.1:" + serverPort
	// EtcdURL is etcd's.
	EtcdURL    = "http://127.0.0.1:23791"
	serverPort = "26443"
)

// StartPlane starts an API server in which nothing is. KUBERNETES names the folder of the programs.
func StartPlane(o Options) (*Plane, error) {
	if os.Getenv("KUBERNETES") == "" {
		return nil, errors.New("KUBERNETES names no folder of a control plane")
	}
	folder, err := os.MkdirTemp("", "limpet-cluster")
	if err != nil {
		return nil, err
	}
	p := &Plane{Folder: folder, options: o, running: map[string]*exec.Cmd{}}
	p.Config = &rest.Config{
		Host:            URL,
		BearerToken:     AdminToken,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	if p.Client, err = kubernetes.NewForConfig(p.Config); err == nil {
		err = errors.Join(p.writeFiles(), p.startEtcd(), p.startServer())
	}
	if err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// Stop ends all that runs.
func (p *Plane) Stop() {
	p.StopControllers()
	p.end("kube-apiserver") // before etcd, without which it does not end
	p.end("etcd")
	_ = os.RemoveAll(p.Folder)
}

func (p *Plane) end(name string) {
	if command := p.running[name]; command != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		delete(p.running, name)
	}
}

func (p *Plane) writeFiles() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	files := map[string]string{
		"sa.key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"sa.pub": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	}
	for token, user := range tokens {
		files["tokens.csv"] += token + "," + user + "\n"
		files["kubeconfig-"+token] = `{apiVersion: v1, kind: Config, current-context: x,
clusters: [{name: c, cluster: {server: "` + URL + `", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {token: ` + token + `}}], contexts: [{name: x, context: {cluster: c, user: u}}]}` + "\n"
	}
	maps.Copy(files, p.options.Files)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(p.Folder, name), []byte(text), 0o600))
	}
	return err
}

// Kubeconfig is the path of a file that leads to the API server as who has a token.
func (p *Plane) Kubeconfig(token string) string { return filepath.Join(p.Folder, "kubeconfig-"+token) }

func (p *Plane) startEtcd() error {
	return p.launch(
		"etcd",
		"--data-dir",
		"data",
		"--unsafe-no-fsync",
		"--listen-client-urls",
		EtcdURL,
		"--advertise-client-urls",
		EtcdURL,
		"--listen-peer-urls",
		"http://127.0.0.1:23801",
		"--initial-advertise-peer-urls",
		"http://127.0.0.1:23801",
		"--initial-cluster",
		"default=http://127.0.0.1:23801",
	)
}

func (p *Plane) startServer() error {
	flags := append([]string{
		"--etcd-servers=" + EtcdURL, "--bind-address=0.0.0.0", "--secure-port=" + serverPort, "--cert-dir=certs",
		"--service-cluster-ip-range=" + serviceNetwork, "--authorization-mode=RBAC", "--token-auth-file=tokens.csv",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=sa.pub",
		"--service-account-signing-key-file=sa.key", "--advertise-address=" + Address, "--endpoint-reconciler-type=none",
	}, p.options.Flags...)
	if err := p.launch("kube-apiserver", flags...); err != nil {
		return err
	}
	return p.awaitReady()
}

// StartControllers starts Kubernetes' own controllers and scheduler.
func (p *Plane) StartControllers() error {
	return errors.Join(
		p.launch(
			"kube-controller-manager",
			"--kubeconfig=kubeconfig-"+AdminToken,
			"--leader-elect=false",
			"--bind-address=127.0.0.1",
			"--controllers=*,-nodeipam,-nodelifecycle,-route,-cloud-node-lifecycle",
			"--root-ca-file=certs/apiserver.crt",
			"--service-account-private-key-file=sa.key",
			"--use-service-account-credentials=true",
		),
		p.launch("kube-scheduler", "--kubeconfig=kubeconfig-"+AdminToken, "--leader-elect=false", "--bind-address=127.0.0.1"),
	)
}

// StopControllers ends them.
func (p *Plane) StopControllers() {
	p.end("kube-scheduler")
	p.end("kube-controller-manager")
}

// RestartServer kills the API server, which would wait for its watches, and starts it again on the same etcd.
func (p *Plane) RestartServer() error {
	p.end("kube-apiserver")
	return p.startServer()
}

// SignalServer sends the API server a signal.
func (p *Plane) SignalServer(signal os.Signal) error {
	return p.running["kube-apiserver"].Process.Signal(signal)
}

// launch starts a program, which ends with this process.
func (p *Plane) launch(name string, args ...string) error {
	log, err := os.OpenFile(p.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(filepath.Join(os.Getenv("KUBERNETES"), name), args...)
	command.Dir, command.Stdout, command.Stderr = p.Folder, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return err
	}
	p.running[name] = command
	return nil
}

func (p *Plane) log(name string) string { return filepath.Join(p.Folder, name+".log") }

// readyWithin is how long the API server may take to start, on a machine that does much else.
const readyWithin = 5 * time.Minute

func (p *Plane) awaitReady() error {
	client, err := rest.HTTPClientFor(p.Config)
	if err != nil {
		return err
	}
	client.Timeout = time.Second
	for deadline := time.Now().Add(readyWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := client.Get(URL + "/readyz")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	text, _ := os.ReadFile(p.log("kube-apiserver"))
	return fmt.Errorf("the API server is not ready within %v:\n%s", readyWithin, text[max(0, len(text)-2000):])
}
