package controller

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// proxy is an HTTPProxy for a path of its own, with more fields of its spec.
func proxy(path, more string) string {
	return fmt.Sprintf(`apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: %[1]s, namespace: a}
spec: {virtualhost: {fqdn: %[1]s.example}, routes: [{conditions: [{prefix: /%[1]s%[3]s}], services: [{name: s, port: 80}]}]%[2]s}
`, strings.TrimRight(path, "0123456789"), more, strings.TrimLeft(path, "abcdefghijklmnopqrstuvwxyz"))
}

func join(documents ...string) string { return strings.Join(documents, "---\n") }

// includes is a field that limpet does not support, of which an API server of Contour's thinks nothing.
const includes = ", includes: [{name: child}]"

// unsupportedCases are what a file says, one text after the other, with the paths that are served then.
var unsupportedCases = []struct {
	name    string
	file    string
	texts   []string
	served  []string
	printed string
}{
	{
		"a new file", "b.yaml",
		[]string{join(proxy("one0", ""), proxy("two0", includes), proxy("three0", ""))},
		[]string{"/one0 /three0"},
		"HTTPProxy a/two in b.yaml is not taken over: it is left out, for it has not been good yet; all else of the file goes on\n",
	},
	{
		"a new file with an HTTPProxy that others include", "b.yaml",
		[]string{join(strings.Replace(proxy("two0", ""), "virtualhost: {fqdn: two.example}, ", "", 1), proxy("one0", ""))},
		[]string{"/one0"},
		"HTTPProxy a/two in b.yaml is not taken over: it is left out",
	},
	{
		"an object that was good", "b.yaml",
		[]string{join(proxy("one0", ""), proxy("two0", "")), join(proxy("one1", ""), proxy("two2", includes)), join(proxy("one1", ""), proxy("two2", ""))},
		[]string{"/one0 /two0", "/one1 /two0", "/one1 /two2"},
		"HTTPProxy a/two in b.yaml is not taken over: what it said before keeps serving; all else of the file goes on\n",
	},
	{
		"and other changes behind it", "b.yaml",
		[]string{
			join(proxy("one0", ""), proxy("two0", "")), join(proxy("two2", includes), proxy("one0", "")),
			join(proxy("two3", includes), proxy("one1", ""), proxy("three0", "")),
		},
		[]string{"/one0 /two0", "/one0 /two0", "/one1 /three0 /two0"},
		"",
	},
	{
		"the last object, cut off: two others stand behind it no longer", "b.yaml",
		[]string{join(proxy("one0", ""), proxy("two0", ""), proxy("three0", "")), join(proxy("one1", ""), proxy("two2", includes))},
		[]string{"/one0 /three0 /two0", "/one0 /three0 /two0"},
		"limpet: change 2 refused: 1 error; the last good configuration keeps serving\n",
	},
	{
		"beside an object that no API server admits", "b.yaml",
		[]string{proxy("one0", ""), join(proxy("one1", ""), proxy("two0", includes), proxy("three0", ", tcpproxy: 3"))},
		[]string{"/one0", "/one0"},
		"limpet: change 2 refused: 2 errors; the last good configuration keeps serving\n",
	},
	{
		"an item of a list", "b.json",
		[]string{
			`{"kind": "List", "apiVersion": "v1", "items": [` + itemOf("one0", "") + "," + itemOf("two0", "") + "]}",
			`{"kind": "List", "apiVersion": "v1", "items": [` + itemOf("one1", "") + "," + itemOf("two2", `, "includes": [{}]`) + "]}",
		},
		[]string{"/one0 /two0", "/one1 /two0"},
		"HTTPProxy a/two in b.json is not taken over",
	},
}

// itemOf is a proxy as JSON.
func itemOf(path, more string) string {
	name, rest := strings.TrimRight(path, "0123456789"), strings.TrimLeft(path, "abcdefghijklmnopqrstuvwxyz")
	return fmt.Sprintf(`{"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": {"name": %[1]q, "namespace": "a"}, "spec": {
"virtualhost": {"fqdn": "%[1]s.example"}, "routes": [{"conditions": [{"prefix": "/%[1]s%[3]s"}], "services": [{"name": "s", "port": 80}]}]%[2]s}}
`, name, more, rest)
}

// TestUnsupportedObjects: an object that is not supported holds back neither its file nor its own earlier version; a file that may be cut
// off deletes nothing.
func TestUnsupportedObjects(t *testing.T) {
	for _, c := range unsupportedCases {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			sources := []compiler.Source{{Name: "a.yaml", Data: []byte(strings.Replace(goodText, "parentRefs", "hostnames: [r.example], parentRefs", 1))}}
			f, _ := newController(t)
			f.Stderr = &stderr
			f.Read = func(io.Writer) (Input, error) { return Input{Sources: read.NewList(slices.Clone(sources)...)}, nil }
			if _, err := f.Start(); err != nil {
				t.Fatal(err)
			}
			for i, text := range c.texts {
				sources = append(sources[:1:1], compiler.Source{Name: c.file, Data: []byte(text)})
				f.reread(time.Now())
				if got := servedPaths(f); got != c.served[i] {
					t.Errorf("text %d: %s are served, want %s\n%s", i, got, c.served[i], stderr.String())
				}
			}
			if !strings.Contains(stderr.String(), c.printed) {
				t.Errorf("said\n%swant %s", stderr.String(), c.printed)
			}
		})
	}
}

var anyPath = regexp.MustCompile(`/(one|two|three)[0-9]\b`)

// servedPaths are the paths of the Gateway's routes.
func servedPaths(c *Controller) string {
	found := map[string]bool{}
	for _, r := range c.Server.Latest("a/gw").Resources(xds.Routes) {
		for _, path := range anyPath.FindAllString(r.Body().String(), -1) {
			found[path] = true
		}
	}
	all := make([]string, 0, len(found))
	for path := range found {
		all = append(all, path)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
