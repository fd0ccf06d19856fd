// Package rig runs the contestants of make bench: one Envoy with a listener for each of them, and backends.
package rig

import (
	"bytes"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/freeport"
	"github.com/limpet-proxy/limpet/internal/load"
)

// BackendHeader is the response header in which a backend says its address.
const BackendHeader = "x-backend"

// Rig is what every Envoy of one bench run starts from.
type Rig struct {
	// Backends are the addresses of the backends.
	Backends []string
	// Cores are the processors in use.
	Cores Cores
	// Counting has Envoy run under valgrind, which counts instructions.
	Counting bool

	root, dir, envoy, wasm string
	base                   object
}

//go:embed documents.yaml
var documents string

// backends is how many there are.
const backends = 2

// New starts the backends and compiles the documents. root is the tree that make built, dir a folder for files that may
// go, envoy the program.
func New(root, dir, envoy string, cores Cores) (*Rig, error) {
	r := &Rig{root: root, dir: dir, envoy: envoy, Cores: cores, wasm: filepath.Join(root, "dist", "limpet.wasm")}
	for range backends {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		address := listener.Addr().String()
		go load.Serve(listener, 0, BackendHeader+": "+address)
		r.Backends = append(r.Backends, address)
	}
	return r, r.compile()
}

// compile has bin/limpet make the configuration that all contestants start from.
func (r *Rig) compile() error {
	type backend struct{ Name, Port string }
	var data struct{ Backends []backend }
	for i, address := range r.Backends {
		_, port, _ := net.SplitHostPort(address)
		data.Backends = append(data.Backends, backend{fmt.Sprintf("b%d", i), port})
	}
	var text bytes.Buffer
	if err := template.Must(template.New("").Parse(documents)).Execute(&text, data); err != nil {
		return err
	}
	input := filepath.Join(r.dir, "documents.yaml")
	if err := os.WriteFile(input, text.Bytes(), 0o600); err != nil {
		return err
	}
	command := exec.Command(filepath.Join(r.root, "bin", "limpet"), "compile", "-f", input, "-t", "envoy",
		"--bind", "127.0.0.1", "--admin", "127.0.0.1:1")
	var errors bytes.Buffer
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("limpet compile: %w\n%s", err, errors.String())
	}
	return yaml.Unmarshal(out, &r.base)
}

func (r *Rig) peer(name string) string { return filepath.Join(r.root, "dist", "peers", name) }

// Start starts an Envoy with these contestants. keys is the ring that they sign with, as LIMPET_KEYS holds it.
func (r *Rig) Start(keys string, contestants []string) (*Envoy, error) {
	ports, err := freeport.FindMany(len(contestants) + 1)
	if err != nil {
		return nil, err
	}
	config := clone(r.base)
	at(config, "admin", "address", "socket_address").(object)["port_value"] = ports[len(contestants)]
	var all []any
	byName := map[string]int{}
	for i, name := range contestants {
		l := listenerTree(clone(at(r.base, "static_resources", "listeners", 0).(object)))
		if err := build(name)(r, l); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l.rename(name, ports[i])
		all, byName[name] = append(all, object(l)), ports[i]
	}
	at(config, "static_resources").(object)["listeners"] = all
	program := []string{r.envoy}
	if r.Counting {
		program = append(counting(r.dir), program...)
	}
	e, err := launch(program, r.dir, config, keys, r.Cores.Envoy)
	if err != nil {
		return nil, err
	}
	e.ports = byName
	return e, nil
}
