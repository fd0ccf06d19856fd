package proxies

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/token"
)

var update = flag.Bool("update", false, "rewrite golden files")

var settings = Settings{
	Image: "limpet-envoy:1", HelperImage: "limpet:1", Server: "limpet.limpet-system.svc:18000", Modules: "limpet.limpet-system.svc:18002",
	Bind: netip.IPv4Unspecified(), Roots: []token.Root{{Target: "envoy", Secret: []byte("limpet's own root secret, 32 long.")}}, Authority: "the authority",
}

// TestRender holds the objects of a Gateway: testdata/NAME.in.yaml has it, and the ProxyConfigs of its class and its own.
func TestRender(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.yaml"), func(t *testing.T) {
			in := readInput(t, file)
			var out bytes.Buffer
			objects, err := Render(in)
			if err != nil {
				out.WriteString("error: " + err.Error() + "\n")
			}
			for _, o := range objects {
				text, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				out.WriteString("---\n" + string(text))
			}
			golden := strings.TrimSuffix(file, ".in.yaml") + ".yaml"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%s is stale (go test . -update rewrites it), %v; now:\n%s", golden, err, out.String())
			}
		})
	}
}

// readInput reads a Gateway and the ProxyConfigs called class and own.
func readInput(t *testing.T, file string) Input {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Gateway: &gatewayv1.Gateway{}, Settings: settings, Allowed: AllowedKeys{"team", "example.com/*"}}
	if strings.Contains(file, "token") {
		in.Settings.Audience = "limpet.dev"
	}
	var class, own *v1alpha1.ProxyConfigSpec
	for i, document := range strings.Split(string(text), "\n---\n") {
		config := v1alpha1.ProxyConfig{}
		if i == 0 {
			err = yaml.UnmarshalStrict([]byte(document), in.Gateway)
		} else {
			err = yaml.UnmarshalStrict([]byte(document), &config)
		}
		if err != nil {
			t.Fatalf("%s: document %d: %v", file, i, err)
		}
		switch config.Name {
		case "class":
			class = &config.Spec
		case "own":
			own = &config.Spec
		}
	}
	if in.Config, err = Merge(class, own); err != nil {
		t.Fatal(err)
	}
	in.Ports = ListPorts(in.Gateway, []Port{{443, corev1.ProtocolUDP}})
	return in
}

// TestName holds that each Gateway's objects have a name that a Service may have, and no two Gateways the same for want of room.
func TestName(t *testing.T) {
	seen := map[string]string{}
	for _, c := range [][2]string{
		{"edge", "limpet"},
		{"edge.shop", "limpet"},
		{"edge-shop", "limpet"},
		{"7", "limpet"},
		{strings.Repeat("a", 63), "limpet"},
		{strings.Repeat("a", 64), "limpet"},
		{strings.Repeat("a.", 100) + "a", "limpet"},
		{strings.Repeat("-", 3) + "a", "limpet"},
	} {
		name := Name(c[0], c[1])
		if errs := validation.IsDNS1035Label(name); len(errs) > 0 {
			t.Errorf("%q: %q: %v", c, name, errs)
		}
		if seen[name] != "" {
			t.Errorf("%q and %q are both %q", seen[name], c[0], name)
		}
		seen[name] = c[0]
	}
	if got := Name("edge", "limpet"); got != "edge-limpet" {
		t.Errorf("GEP-1762 wants edge-limpet, not %q", got)
	}
}

// TestMergeBootstrap holds what a bootstrap becomes: objects are merged field by field, lists of named objects by their names, and null
// takes out.
func TestMergeBootstrap(t *testing.T) {
	for name, c := range map[string][3]string{
		"a field":          {"a: 1\nb: 2\n", `{"b": 3}`, "a: 1\nb: 3\n"},
		"below":            {"a: {b: 1, c: 2}", `{"a": {"c": 3}}`, "a:\n  b: 1\n  c: 3\n"},
		"taken out":        {"a: {b: 1, c: 2}", `{"a": {"c": null}}`, "a:\n  b: 1\n"},
		"named":            {"l: [{name: p, v: 1}, {name: q, v: 2}]", `{"l": [{"name": "q", "w": 3}, {"name": "r"}]}`, "l:\n- name: p\n  v: 1\n- name: q\n  v: 2\n  w: 3\n- name: r\n"},
		"not named":        {"l: [1, 2]", `{"l": [3]}`, "l:\n- 3\n"},
		"nulls of nothing": {"a: 1", `{"b": {"c": null}}`, "a: 1\nb: {}\n"},
	} {
		config := v1alpha1.ProxyConfigSpec{}
		if err := yaml.Unmarshal([]byte("bootstrap: "+c[1]), &config); err != nil {
			t.Fatal(err)
		}
		got, err := mergeBootstrap([]byte(c[0]), config.Bootstrap)
		if err != nil || string(got) != c[2] {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c[2])
		}
	}
}

// TestMergeKeepsNulls holds that what the Gateway's ProxyConfig takes out of a bootstrap is taken out of what limpet writes, too.
func TestMergeKeepsNulls(t *testing.T) {
	spec := func(text string) *v1alpha1.ProxyConfigSpec {
		s := &v1alpha1.ProxyConfigSpec{}
		if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	merged, err := Merge(spec("bootstrap: {admin: {a: 1}, x: 1}"), spec("bootstrap: {admin: null}"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := mergeBootstrap([]byte("admin: {b: 2}\nz: 2\n"), merged.Bootstrap)
	if err != nil || string(got) != "x: 1\nz: 2\n" {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestRootsOfGateways: a Gateway's Secret has a root of its own, none of limpet's, and one of the same name later has another.
func TestRootsOfGateways(t *testing.T) {
	seen := map[string]string{settings.Roots[0].Text(): "limpet"}
	for _, g := range []gatewayv1.Gateway{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "1"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "2"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "inner", UID: "1"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: "edge", UID: "1"}},
	} {
		name := g.Namespace + "/" + g.Name + "/" + string(g.UID)
		g.Spec.GatewayClassName = "limpet"
		r := &renderer{Input: Input{Gateway: &g, Settings: settings}}
		text := string(r.newSecret().Data["root"])
		if seen[text] != "" || strings.Contains(text, "limpet") {
			t.Errorf("%s has the root of %s: %q", name, seen[text], text)
		}
		seen[text] = name
		if roots, err := token.ParseRoots(text); err != nil || len(roots) != 1 || roots[0].Target != "envoy" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
