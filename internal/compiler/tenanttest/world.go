// Package tenanttest makes namespaces that share proxies, honest and hostile ones, whose objects come, change and go at
// random, for tests of what they may do to each other (docs/threat-model.md, "Trust among those who share a proxy").
package tenanttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// Site is where a world's proxies listen, and what they lead to.
type Site struct {
	// Shared and SharedTLS are the ports of the Gateways of the operator, and Admin that of Envoy's admin interface.
	Shared, SharedTLS, Admin int
	// OwnPort is the port of the Gateway of an honest namespace, and FreePort one of those that hostile ones may have for
	// themselves.
	OwnPort, FreePort func(i int) int
	// Endpoint is the n-th address and port of a namespace's Service, behind which stand its own pods.
	Endpoint func(namespace, n int) (address string, port int)
	// Honest and Hostile are how many namespaces of each kind there are.
	Honest, Hostile int
}

// World is namespaces, and who runs the proxies that they share.
type World struct {
	Site
	Namespaces []*Namespace
	random     *rand.Rand
	// certificate and key are those of all Secrets, in PEM.
	certificate, key string
}

// Namespace is one with the objects that are in it at a time.
type Namespace struct {
	Name string
	// Honest ones ask for nothing that is another's: not a host, a name, a port or an object of theirs.
	Honest  bool
	index   int
	objects []*object
}

// object is a document that comes, changes and goes.
type object struct {
	template string
	text     string
	gone     bool
}

// New makes a world, the same for the same seed, in which hostile namespaces have nothing yet.
func New(seed uint64, site Site) *World {
	w := &World{Site: site, random: rand.New(rand.NewPCG(seed, 16))} //nolint:gosec // equal runs for equal seeds
	w.certificate, w.key = makeCertificate()
	for i := range site.Honest {
		n := &Namespace{Name: fmt.Sprintf("honest-%03d", i), Honest: true, index: i}
		for _, template := range honestTemplates {
			n.add(w, template)
		}
		w.Namespaces = append(w.Namespaces, n)
	}
	for i := range site.Hostile {
		// Every other one has a name that sorts before those of the honest ones.
		n := &Namespace{Name: fmt.Sprintf("%s-%03d", []string{"attack", "zealot"}[i%2], i), index: i}
		w.Namespaces = append(w.Namespaces, n)
	}
	return w
}

// add writes an object from a template.
func (n *Namespace) add(w *World, template string) {
	n.objects = append(n.objects, &object{template: template, text: w.write(n, template)})
}

// Random is what decides over the changes.
func (w *World) Random() *rand.Rand { return w.random }

// Step changes some objects of some namespaces, and gives these.
func (w *World) Step(namespaces int) (changed []*Namespace) {
	for _, at := range w.random.Perm(len(w.Namespaces))[:namespaces] {
		n := w.Namespaces[at]
		for range 1 + w.random.IntN(4) {
			n.change(w)
		}
		changed = append(changed, n)
	}
	return changed
}

// change adds, changes or takes away an object.
func (n *Namespace) change(w *World) {
	if !n.Honest && (len(n.objects) < 3 || w.random.IntN(3) == 0) {
		n.attack(w)
		return
	}
	o := n.objects[w.random.IntN(len(n.objects))]
	switch {
	case o.gone:
		o.gone, o.text = false, w.write(n, o.template)
	case w.random.IntN(4) == 0 && !strings.Contains(o.template, keptMark):
		o.gone = true
	default:
		o.text = w.write(n, o.template)
	}
}

// attack adds one of the things that hostile namespaces try, or puts one into the place of another.
func (n *Namespace) attack(w *World) {
	for _, template := range w.pickAttack().objects {
		n.add(w, template)
	}
	if most := 12; len(n.objects) > most {
		n.objects = n.objects[len(n.objects)-most:]
	}
}

// Text is all of a namespace's objects. No two of them have one kind and name, as an API server has it.
func (n *Namespace) Text() string {
	var texts []string
	seen := map[string]bool{}
	for i := len(n.objects) - 1; i >= 0; i-- {
		o := n.objects[i]
		if key := keyOf(o.template); !o.gone && !seen[key] {
			seen[key] = true
			texts = append(texts, o.text)
		}
	}
	return strings.Join(texts, "\n---\n")
}

// keyOf is the kind and name of an object, as its template has them.
func keyOf(template string) string {
	_, kind, _ := strings.Cut(template, "kind: ")
	kind, _, _ = strings.Cut(kind, "\n")
	_, name, _ := strings.Cut(template, "name: ")
	return kind + "/" + name[:strings.IndexAny(name, ",}")]
}

// Source is a namespace's file.
func (n *Namespace) Source() read.Source {
	return read.Source{Name: n.Name + ".yaml", Data: []byte(n.Text())}
}

// victim is another namespace, an honest one most often.
func (w *World) victim(n *Namespace) *Namespace {
	for {
		other := w.Namespaces[w.random.IntN(len(w.Namespaces))]
		if other != n && (other.Honest || w.random.IntN(4) == 0) {
			return other
		}
	}
}

// write fills in a template's words. Those that begin with THEIR are of another namespace.
func (w *World) write(n *Namespace, template string) string {
	victim := n
	if !n.Honest {
		victim = w.victim(n)
	}
	return os.Expand(template, func(word string) string {
		if of, is := strings.CutPrefix(word, "THEIR_"); is {
			return w.word(victim, of)
		}
		return w.word(n, word)
	})
}

// word is what a word of a template becomes for a namespace.
func (w *World) word(n *Namespace, word string) string {
	if write := words[word]; write != nil {
		return write(w, n)
	}
	panic("tenanttest: no word " + word)
}

// words are those of templates.
var words = map[string]func(w *World, n *Namespace) string{
	"NS":   func(_ *World, n *Namespace) string { return n.Name },
	"HOST": func(_ *World, n *Namespace) string { return n.Host() },
	// GATEWAY is the operator's on which the namespace has listeners.
	"GATEWAY":     func(_ *World, n *Namespace) string { return gatewayOf(n) },
	"PORT":        func(w *World, n *Namespace) string { return fmt.Sprint(w.Port(n)) },
	"SHARED":      func(w *World, _ *Namespace) string { return fmt.Sprint(w.Shared) },
	"TLS":         func(w *World, _ *Namespace) string { return fmt.Sprint(w.SharedTLS) },
	"ADMIN":       func(w *World, _ *Namespace) string { return fmt.Sprint(w.Admin) },
	"CERTIFICATE": func(w *World, _ *Namespace) string { return fmt.Sprintf("%q", w.certificate) },
	"KEY":         func(w *World, _ *Namespace) string { return fmt.Sprintf("%q", w.key) },
	"ENDPOINT":    func(w *World, n *Namespace) string { return w.address(n, 0) },
	"ENDPOINT2":   func(w *World, n *Namespace) string { return w.address(n, 1) },
	"ENDPOINT3":   func(w *World, n *Namespace) string { return w.address(n, 2) },
	"POD":         func(w *World, n *Namespace) string { return w.pod(n, 0) },
	"POD2":        func(w *World, n *Namespace) string { return w.pod(n, 1) },
	"POD3":        func(w *World, n *Namespace) string { return w.pod(n, 2) },
	"N":           func(w *World, _ *Namespace) string { return fmt.Sprint(1 + w.random.IntN(23)) },
	"OLD": func(w *World, _ *Namespace) string {
		return []string{"", `, creationTimestamp: "1990-01-01T00:00:00Z"`}[w.random.IntN(2)]
	},
	"TEXT": func(w *World, _ *Namespace) string { return strings.Repeat("x", w.random.IntN(50_000)) },
	"MANY": func(*World, *Namespace) string {
		return repeatIndexed(16, `{name: m%d, matches: [{path: {value: /many/%[1]d}}], backendRefs: [{name: own, port: 80}]}`)
	},
	"ANCESTORS": func(*World, *Namespace) string {
		return repeatIndexed(16, `{controllerName: other.example/c, conditions: [], `+
			`ancestorRef: {group: gateway.networking.k8s.io, kind: Gateway, namespace: none, name: g%d}}`)
	},
	"LISTENERS": func(w *World, n *Namespace) string {
		return repeatIndexed(
			64,
			fmt.Sprintf("{name: l%%d, protocol: HTTP, port: %d, hostname: h%%[1]d.example.com}", w.Port(n)),
		)
	},
	"ENDPOINTS": func(*World, *Namespace) string { return repeatIndexed(900, "{addresses: [10.77.0.1], hostname: h%d}") },
}

// Port is that of the namespace's own Gateway.
func (w *World) Port(n *Namespace) int {
	if n.Honest {
		return w.OwnPort(n.index)
	}
	return w.FreePort(n.index)
}

func (w *World) address(n *Namespace, pod int) string {
	address, _ := w.Endpoint(n.index, pod)
	return address
}

func (w *World) pod(n *Namespace, pod int) string {
	_, port := w.Endpoint(n.index, pod)
	return fmt.Sprint(port)
}

// repeatIndexed writes items of a list, each with its index.
func repeatIndexed(count int, format string) string {
	items := make([]string, count)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(items, ", ")
}

// Host ends the names of all hosts of the namespace.
func (n *Namespace) Host() string { return n.Name + ".example.com" }
