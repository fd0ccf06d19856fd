// Package chart renders limpet's chart with Helm's own library, and makes what a release has of it.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Name is that of the release in tests and manifests, Namespace where it is.
const (
	Name      = "limpet"
	Namespace = "limpet-system"
)

// Folder is where the chart is, below the root of the tree.
func Folder(root string) string { return filepath.Join(root, "deploy/chart/limpet") }

// Load reads the chart as Helm does, with the CRDs in it.
func Load(root string) (*chart.Chart, error) {
	files, err := Files(root)
	if err != nil {
		return nil, err
	}
	var buffered []*loader.BufferedFile
	for _, name := range slices.Sorted(maps.Keys(files)) {
		buffered = append(buffered, &loader.BufferedFile{Name: name, Data: files[name]})
	}
	return loader.LoadFiles(buffered)
}

// Render renders the chart for values as "helm template" does: those that its schema refuses are an error.
func Render(of *chart.Chart, values map[string]any) ([]*unstructured.Unstructured, error) {
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ReleaseName, install.Namespace = Name, Namespace
	install.ClientOnly, install.DryRun, install.Replace = true, true, true
	version, err := chartutil.ParseKubeVersion("v1.36.0")
	if err != nil {
		return nil, err
	}
	install.KubeVersion = version
	release, err := install.Run(of, values)
	if err != nil {
		return nil, err
	}
	return Parse(release.Manifest)
}

// Parse reads the objects of a text, one after the other.
func Parse(text string) (all []*unstructured.Unstructured, err error) {
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		o := &unstructured.Unstructured{}
		switch err := documents.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(o.Object) > 0:
			all = append(all, o)
		}
	}
}

// Title names an object for people.
func Title(o *unstructured.Unstructured) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s", o.GetKind(), strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")))
}
