// Package plugincheck says what is wrong with a filter's configuration that is written by hand, and with what stands
// around it: the JSON, as the filter itself says it, and the Envoy configuration or Istio resources in which it is,
// which Envoy takes without a word though no session sticks, or a client chooses its host.
//
// It reads documents and follows names in them: a route configuration or a filter that Envoy discovers is looked for in
// all files. It does not judge what the files do not have.
package plugincheck

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// File is one to be checked: YAML documents, or JSON.
type File struct {
	Name string
	Data []byte
}

// Problem is one thing that is wrong.
type Problem struct {
	File    string
	Line    int
	Path    string // in the document
	Message string
}

func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Path, p.Message)
}

// Result is what a check found.
type Result struct {
	Problems []Problem
	// Unseen names what the files mention and do not have, which was not checked.
	Unseen []string
	// Plugins and Policies count what was checked.
	Plugins, Policies int
}

// checker collects problems.
type checker struct {
	Result
	getenv     func(string) string
	extensions map[string]value // filters that Envoy discovers
	asked      map[string]bool  // those that a connection manager asks for
	tables     map[string]value // route configurations
	clusters   map[string]value
	managers   []value  // HTTP connection managers
	strays     []chain  // those that have no limpet.wasm
	pins       []string // the pinHeader of each configuration
	checked    []*table
	istio      istioObjects
}

// Check checks files. getenv is the environment, from which key rings are read where they are there.
func Check(files []File, getenv func(string) string) (Result, error) {
	c := &checker{
		getenv: getenv, extensions: map[string]value{}, asked: map[string]bool{}, tables: map[string]value{},
		clusters: map[string]value{},
	}
	var plain []value
	for _, f := range files {
		documents, broken := parse(f)
		c.Problems = append(c.Problems, broken...)
		for _, d := range documents {
			if d.isPlugin() {
				plain = append(plain, d)
				continue
			}
			c.collect(d)
		}
	}
	if len(c.Problems) > 0 { // what a broken file has would be missed in the others
		return c.Result, nil
	}
	for _, d := range plain {
		c.checkDocument(d)
	}
	for _, m := range c.managers {
		c.checkManager(m)
	}
	c.checkAlone()
	for _, t := range c.checked {
		t.checkNames()
	}
	c.checkIstio()
	if len(c.pins) > 0 {
		c.checkStrays()
	}
	if c.Plugins == 0 {
		return Result{}, errors.New(
			"no configuration of limpet's filter is in the input: give a plugin's JSON, an Envoy bootstrap, listener " +
				"or filter with one in it, or a WasmPlugin with its EnvoyFilter",
		)
	}
	slices.SortStableFunc(c.Problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	slices.Sort(c.Unseen)
	c.Unseen = slices.Compact(c.Unseen)
	return c.Result, nil
}

// parse gives a file's documents, or says why it has none.
func parse(f File) (documents []value, broken []Problem) {
	d := yaml.NewDecoder(bytes.NewReader(f.Data))
	for {
		var n yaml.Node
		err := d.Decode(&n)
		switch {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			line, why := read.ExplainBroken(f.Name, f.Data, err)
			return nil, []Problem{{File: f.Name, Line: line, Message: why}}
		case len(n.Content) == 1 && n.Content[0].Kind == yaml.MappingNode:
			documents = append(
				documents,
				value{node: n.Content[0], file: &File{Name: f.Name, Data: f.Data}, line: n.Content[0].Line},
			)
		}
	}
}

// isPlugin tells whether a document is the filter's own JSON.
func (v value) isPlugin() bool {
	for _, field := range []string{
		"apiVersion", "@type", "static_resources", "dynamic_resources", "resources",
		"http_filters",
	} {
		if !v.get(field).missing() {
			return false
		}
	}
	return !v.get("policies").missing() || strings.HasPrefix(v.get("version").text(), "limpet.dev/")
}

// collect finds all that is looked at later.
func (c *checker) collect(v value) {
	if c.collectIstio(v) {
		return
	}
	v.walk(func(m value) {
		name := m.get("name").text()
		switch m.typeName() {
		case "HttpConnectionManager":
			m.path = "" // the line says where it is
			c.managers = append(c.managers, m)
			if table := m.get("route_config"); !table.missing() {
				c.tables[table.get("name").text()] = table
			}
		case "RouteConfiguration":
			c.tables[name] = m
		case "Cluster":
			c.clusters[name] = m
		case "TypedExtensionConfig":
			c.extensions[name] = m
		}
	})
	for _, cluster := range v.get("static_resources").get("clusters").items() {
		c.clusters[cluster.get("name").text()] = cluster
	}
	// A file may be the filter chain's parts alone, without the type around them.
	if !v.get("http_filters").missing() && v.typeName() == "" {
		c.managers = append(c.managers, v)
	}
	if !v.get("virtual_hosts").missing() && v.typeName() == "" {
		c.tables[v.get("name").text()] = v
	}
	if !v.get("typed_config").missing() && v.typeName() == "" {
		c.extensions[v.get("name").text()] = v
	}
}

// add notes a problem at a value.
func (c *checker) add(at value, format string, args ...any) {
	c.Problems = append(
		c.Problems,
		Problem{File: at.file.Name, Line: at.line, Path: at.path, Message: fmt.Sprintf(format, args...)},
	)
}

// addOnce is add for what several have in common.
func (c *checker) addOnce(at value, format string, args ...any) {
	before := len(c.Problems)
	c.add(at, format, args...)
	if last := c.Problems[before]; slices.Contains(c.Problems[:before], last) {
		c.Problems = c.Problems[:before]
	}
}

// unseen notes what the files do not have.
func (c *checker) unseen(format string, args ...any) {
	c.Unseen = append(c.Unseen, fmt.Sprintf(format, args...))
}
