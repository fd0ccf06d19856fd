package chart

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Manifest is install.yaml: the namespace, and the chart's objects with default values.
func Manifest(root string) (string, error) {
	c, err := Load(root)
	if err != nil {
		return "", err
	}
	objects, err := Render(c, nil)
	if err != nil {
		return "", err
	}
	objects = append([]*unstructured.Unstructured{namespace()}, objects...)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	documents := make([]string, len(objects))
	for i, o := range objects {
		forgetHelm(o)
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return "", err
		}
		documents[i] = string(text)
	}
	return strings.Join(documents, "---\n"), nil
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

// rank orders objects by kind: an object comes before those that need it.
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
