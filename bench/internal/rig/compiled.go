package rig

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/freeport"
)

// Deployment is an input of limpet compile, a route with one rule to two backends, and how it is compiled.
type Deployment struct {
	// Rule and Policy are more of the rule, and the spec of a policy for its route, in YAML's flow style; empty for none.
	Rule, Policy string
	// Flags are those of limpet compile; with Watch it is compile --watch, which knows whose addresses are.
	Flags []string
	Watch bool
	// Native has Envoy load the native filter.
	Native bool
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
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cookie := r.Header.Get(SetCookie); cookie != "" {
			w.Header().Set("Set-Cookie", cookie)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	return port, err
}

// Deploy compiles a deployment in a folder of its own and starts an Envoy on it, whose instructions can be counted. Its contestant
// has the given name.
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
	owners := []string{"new"}
	if d.Reused {
		owners = []string{"old", "new"}
	}
	for _, in.Owner = range owners {
		if err := r.compileIn(dir, in, loopback(ports[1])); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "out", "envoy.yaml"))
	if err != nil {
		return nil, err
	}
	var config object
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	at(config, "admin", "address", "socket_address").(object)["port_value"] = ports[1]
	e, err := launch(append(counting(dir), r.envoy), dir, config, keys, r.Cores.Envoy)
	if err == nil {
		e.ports = map[string]int{name: ports[0]}
	}
	return e, err
}

// compileIn has limpet write DIR/out.
func (r *Rig) compileIn(dir string, in documentFields, admin string) error {
	var text bytes.Buffer
	if err := template.Must(template.New("").Parse(featureDocuments)).Execute(&text, in); err != nil {
		return err
	}
	file := filepath.Join(dir, "in.yaml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return err
	}
	filter := []string{"--wasm-path", r.wasm}
	if in.Native {
		filter = []string{"--filter", "native", "--native-path", filepath.Join(r.root, "dist", "liblimpet.so")}
	}
	arguments := slices.Concat([]string{
		"compile", "-f", file, "-t", "envoy", "-o", filepath.Join(dir, "out"), "--bind", "127.0.0.1", "--admin", admin,
	}, filter, in.Flags)
	command := exec.Command(filepath.Join(r.root, "bin", "limpet"), arguments...)
	if in.Watch {
		command.Args = append(command.Args, "--watch")
		return runUntil(command, "is up to date")
	}
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("limpet compile: %w\n%s", err, said)
	}
	return nil
}

// runUntil runs a command until it has said the words.
func runUntil(command *exec.Cmd, words string) error {
	said := &output{words: words, done: make(chan struct{})}
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case <-said.done:
	case err := <-ended:
		return fmt.Errorf("%s: %w\n%s", command, errors.Join(err, errors.New("it has ended")), said.text.String())
	}
	err := command.Process.Signal(os.Interrupt)
	<-ended
	return err
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
