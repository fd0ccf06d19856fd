package chart

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// manifestHead says where files come from.
const manifestHead = "# Made from deploy/chart/limpet by 'make deploy': change that, not this.\n"

// crdBase is where kustomize finds the CRDs, from its base.
const crdBase = "../../compiler/api/crds"

// Manifests are what is made from the chart: install.yaml, and the files of a kustomize base with the same objects, whose CRDs are
// a base of their own.
func Manifests(root string) (install string, base map[string]string, err error) {
	c, err := Load(root)
	if err != nil {
		return "", nil, err
	}
	objects, err := Render(c, nil)
	if err != nil {
		return "", nil, err
	}
	objects = append([]*unstructured.Unstructured{namespace()}, objects...)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	install, base = manifestHead, map[string]string{}
	names := []string{crdBase}
	for i, o := range objects {
		forgetHelm(o)
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return "", nil, err
		}
		if i > 0 {
			install += "---\n"
		}
		install += string(text)
		name := strings.ToLower(o.GetKind()) + ".yaml"
		switch {
		case o.GetKind() == "CustomResourceDefinition":
			continue
		case base[name] == "":
			names = append(names, name)
			base[name] = manifestHead
		default:
			base[name] += "---\n"
		}
		base[name] += string(text)
	}
	base["kustomization.yaml"] = manifestHead +
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- " + strings.Join(names, "\n- ") + "\n"
	return install, base, nil
}

// namespace is limpet's own, which Helm makes with --create-namespace. Nothing in it may be privileged.
func namespace() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("v1")
	o.SetKind("Namespace")
	o.SetName(Namespace)
	o.SetLabels(map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
		"app.kubernetes.io/name": "limpet",
	})
	return o
}

// rank is when an object comes: before those that need it.
func rank(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	default:
		return 2
	}
}

// forgetHelm takes out of an object what only Helm reads.
func forgetHelm(o *unstructured.Unstructured) {
	annotations := o.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	o.SetAnnotations(annotations)
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
		labels, has, err := unstructured.NestedStringMap(o.Object, path...)
		if !has || err != nil {
			continue
		}
		delete(labels, "helm.sh/chart")
		delete(labels, "app.kubernetes.io/managed-by")
		if err := unstructured.SetNestedStringMap(o.Object, labels, path...); err != nil {
			panic(fmt.Sprintf("%s: labels: %v", Title(o), err)) // they were read from there
		}
	}
}
