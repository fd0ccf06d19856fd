package inputfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKustomization builds an overlay with a patch, a prefix and a namespace, and refuses what runs programs or reads files of
// elsewhere.
func TestKustomization(t *testing.T) {
	for name, c := range map[string]struct{ overlay, want string }{
		"an overlay": {
			"resources: [../base]\nnamespace: shop\nnamePrefix: blue-\npatches: [{patch: '[{\"op\": \"replace\", \"path\": \"/spec/ports/0/port\", \"value\": 81}]', target: {kind: Service}}]",
			"name: blue-cart\n  namespace: shop\nspec:\n  ports:\n  - port: 81\n",
		},
		"a program": {"resources: [../base]\ngenerators: [run.yaml]", "error: external plugins disabled"},
		"a chart":   {"helmCharts: [{name: x, repo: 'https://charts.example.com'}]", "error: must specify --enable-helm"},
		"a file of elsewhere": {
			"resources: [../base]\nconfigMapGenerator: [{name: x, files: [/etc/hostname]}]", "error: security; file '/etc/hostname' is not in or below",
		},
		"no kustomization": {"", "error: there is no kustomization.yaml in this folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"base/kustomization.yaml":    "resources: [cart.yaml]",
				"base/cart.yaml":             "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{port: 80}]}",
				"overlay/kustomization.yaml": c.overlay,
				"overlay/run.yaml":           "apiVersion: example.com/v1\nkind: Generator\nmetadata: {name: x, annotations: {config.kubernetes.io/function: '{exec: {path: /bin/true}}'}}",
			} {
				if text == "" {
					continue
				}
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_ = os.MkdirAll(filepath.Join(dir, "overlay"), 0o700)
			source, err := ReadKustomization(filepath.Join(dir, "overlay"))
			got := string(source.Data)
			if err != nil {
				got = "error: " + err.Error()
			}
			want, failed := strings.CutPrefix(c.want, "error: ")
			if failed != (err != nil) || !strings.Contains(got, want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
