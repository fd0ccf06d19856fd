package rig

import (
	"bytes"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/freeport"
)

// Deployment is an input of limpet compile, a route with one rule to two backends, and how it is compiled.
type Deployment struct {
	// Rule and Policy are more of the rule, and the spec of a policy for its route, in YAML's flow style; empty for none.
	Rule, Policy string
	// Flags are those of limpet compile, or, where it is Served, of limpet serve, which knows whose addresses are.
	Flags  []string
	Served bool
	// Sharded has Envoy find its routes by shard, where it is Served.
	Sharded bool
	// Native has Envoy load the native filter.
	Native bool
	// Led has the split's routes be there once more for each backend, to which sessions are led.
	Led bool
	// Reused has other pods have had the addresses before.
	Reused bool
}

//go:embed features.yaml
var featureDocuments string

// SetCookie is the request header whose value the applications of a deployment set as a cookie.
const SetCookie = "x-set-cookie"

// documentFields are what its documents are made of.
type documentFields struct {
	Deployment
	Port     int
	Services []service
	// Owner is what tells the pods at the addresses from those before.
	Owner string
}

type service struct{ Name, Port string }

// serveApplication answers at an address of its own, until the program ends.
func serveApplication() (port string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if cookie := r.Header.Get(SetCookie); cookie != "" {
				w.Header().Set("Set-Cookie", cookie)
			}
		}),
	}
	go func() { _ = server.Serve(listener) }()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	return port, err
}

// Deploy compiles a deployment in a folder of its own and starts an Envoy on it, whose instructions can be counted. Its
// contestant has the given name.
func (r *Rig) Deploy(keys, name string, d Deployment) (*Envoy, error) {
	ports, err := freeport.FindMany(2)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	in := documentFields{Deployment: d, Port: ports[0]}
	for _, name := range []string{"blue", "green", "mirror"} {
		port, err := serveApplication()
		if err != nil {
			return nil, err
		}
		in.Services = append(in.Services, service{name, port})
	}
	filter, err := r.filterOf(d, dir)
	if err != nil {
		return nil, err
	}
	if d.Served {
		return r.deployServed(keys, dir, filter, in, ports[1])
	}
	in.Owner = "new"
	file, err := in.write(dir)
	if err != nil {
		return nil, err
	}
	command := arguments(
		d,
		filter,
		"compile",
		"-f",
		file,
		"-t",
		"envoy",
		"-o",
		filepath.Join(dir, "out"),
		"--bind",
		"127.0.0.1",
	)
	if printed, err := exec.Command(filepath.Join(r.root, "bin", "limpet"), command...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("limpet compile: %w\n%s", err, printed)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out", "envoy.yaml"))
	if err != nil {
		return nil, err
	}
	return r.launchDeployed(text, keys, dir, in, ports[1])
}

// launchDeployed starts the Envoy of a deployment on a bootstrap, with another port for its admin interface.
func (r *Rig) launchDeployed(bootstrap []byte, keys, dir string, in documentFields, admin int) (*Envoy, error) {
	var config object
	if err := yaml.Unmarshal(bootstrap, &config); err != nil {
		return nil, err
	}
	if in.Led {
		lead(config)
	}
	at(config, "admin", "address", "socket_address").(object)["port_value"] = admin
	e, err := launch(append(counting(dir), r.envoy), dir, config, keys, r.Cores.Envoy)
	if err == nil {
		e.ports = map[string]int{filepath.Base(dir): in.Port}
	}
	return e, err
}

// deployServed is Deploy with limpet serve, which ends with the Envoy. Other owners of the addresses are served before.
func (r *Rig) deployServed(keys, dir, filter string, in documentFields, admin int) (*Envoy, error) {
	ports, err := freeport.FindMany(2)
	if err != nil {
		return nil, err
	}
	limpet, listen := filepath.Join(r.root, "bin", "limpet"), loopback(ports[0])
	owners := []string{"new"}
	if in.Reused {
		owners = []string{"old", "new"}
	}
	var server *exec.Cmd
	for _, in.Owner = range owners {
		if server != nil {
			_ = server.Process.Signal(os.Interrupt)
			_ = server.Wait()
		}
		file, err := in.write(dir)
		if err != nil {
			return nil, err
		}
		server = exec.Command(
			limpet,
			arguments(in.Deployment, filter, "serve", "-f", file, "--bind", "127.0.0.1", "--listen", listen,
				"--admin", loopback(ports[1]), "--state-dir", filepath.Join(dir, "state"))...)
		server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := startUntil(server, "changes of the input reach Envoys"); err != nil {
			return nil, err
		}
	}
	text, err := exec.Command(limpet, "bootstrap", "--gateway", "default/edge", "--server", listen).Output()
	if err != nil {
		return nil, err
	}
	e, err := r.launchDeployed(text, keys, dir, in, admin)
	if err == nil {
		e.server = server
	}
	return e, err
}

// filterOf is the file of a deployment's filter. Where Envoy is served, and has one table of routes, the file is in a
// folder without the module for shards.
func (r *Rig) filterOf(d Deployment, dir string) (string, error) {
	switch {
	case d.Native:
		return filepath.Join(r.root, "dist", "liblimpet.so"), nil
	case !d.Served || d.Sharded:
		return r.wasm, nil
	}
	module, err := os.ReadFile(r.wasm)
	if err != nil {
		return "", err
	}
	alone := filepath.Join(dir, "limpet.wasm")
	return alone, os.WriteFile(alone, module, 0o600)
}

// arguments are those of a limpet, with the deployment's filter and flags.
func arguments(d Deployment, filter string, own ...string) []string {
	own = append(own, "--filter-path", filter)
	if d.Native {
		own = append(own, "--filter", "native")
	}
	return append(own, d.Flags...)
}

// write writes the documents.
func (in documentFields) write(dir string) (file string, err error) {
	var text bytes.Buffer
	if err := template.Must(template.New("").Parse(featureDocuments)).Execute(&text, in); err != nil {
		return "", err
	}
	file = filepath.Join(dir, "in.yaml")
	return file, os.WriteFile(file, text.Bytes(), 0o600)
}

// startUntil starts a command, and waits until it has said the words.
func startUntil(command *exec.Cmd, words string) error {
	printed := &output{words: words, done: make(chan struct{})}
	command.Stdout, command.Stderr = printed, printed
	if err := command.Start(); err != nil {
		return err
	}
	select {
	case <-printed.done:
		return nil
	case <-time.After(readyWithin):
		return fmt.Errorf("%s does not say %q:\n%s", command, words, printed.text.String())
	}
}

// output is what a command has said so far.
type output struct {
	words string
	text  bytes.Buffer
	done  chan struct{} // closed when the words have come
}

func (o *output) Write(b []byte) (int, error) {
	before := strings.Contains(o.text.String(), o.words)
	n, err := o.text.Write(b)
	if !before && strings.Contains(o.text.String(), o.words) {
		close(o.done)
	}
	return n, err
}
