package main

import (
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// downloads is where a release's files are.
func (r *release) downloads() string {
	return "https://github.com/limpet-proxy/limpet/releases/download/" + r.version + "/"
}

// writeKrew writes the manifest from which krew installs "kubectl limpet".
func (r *release) writeKrew() error {
	var all []map[string]any
	for _, p := range platforms {
		archive, err := os.ReadFile(filepath.Join(r.out, r.archiveName(p)))
		if err != nil {
			return err
		}
		all = append(all, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"os": p.os, "arch": p.arch}},
			"uri":      r.downloads() + r.archiveName(p),
			"sha256":   strings.TrimPrefix(digestOf(archive), "sha256:"),
			"bin":      "limpet",
			"files":    []map[string]string{{"from": "limpet", "to": "."}, {"from": "LICENSE", "to": "."}},
		})
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin",
		"metadata": map[string]string{"name": "limpet"},
		"spec": map[string]any{
			"version": r.version, "homepage": "https://github.com/limpet-proxy/limpet", "platforms": all,
			"shortDescription": "Sticky sessions for Gateway API, with signed tokens",
			"description": "Compiles and checks Gateway API objects with session persistence, says what becomes of a\n" +
				"request's session and why, makes keys, and shows what Envoys run: the same program that\nserves them in the " +
				"cluster.\n",
		},
	})
	if err != nil {
		return err
	}
	return r.write("krew/limpet.yaml", text)
}
