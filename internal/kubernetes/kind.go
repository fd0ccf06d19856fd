package kubernetes

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// builtIn are the resources of kinds that every API server has. All others come with CRDs.
var builtIn = map[schema.GroupKind]schema.GroupVersionResource{
	{Kind: "Service"}:   {Version: "v1", Resource: "services"},
	{Kind: "Secret"}:    {Version: "v1", Resource: "secrets"},
	{Kind: "Namespace"}: {Version: "v1", Resource: "namespaces"},
	{Kind: "ConfigMap"}: {Version: "v1", Resource: "configmaps"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: {
		Group:    "discovery.k8s.io",
		Version:  "v1",
		Resource: "endpointslices",
	},
}

// Pods are followed only where a policy keeps those that Services no longer select.
var (
	policyKind = schema.GroupKind{Group: v1alpha1.Group, Kind: "SessionPersistencePolicy"}

	podKind  = schema.GroupKind{Kind: "Pod"}
	machines = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// selectors leave out what the compiler has no use for: of Secrets it reads certificates alone.
var selectors = map[schema.GroupKind]string{{Kind: "Secret"}: "type=kubernetes.io/tls"}

// labelSelectors leave out what is limpet's own.
var labelSelectors = map[schema.GroupKind]string{{Kind: "ConfigMap"}: "!" + memoryLabel}

// crds is the resource of CustomResourceDefinitions.
var crds = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// findCustomKinds gives the resources of the kinds that the compiler reads and whose CRDs are established.
func findCustomKinds(
	definitions []*apiextensionsv1.CustomResourceDefinition,
) map[schema.GroupKind]schema.GroupVersionResource {
	found := map[schema.GroupKind]schema.GroupVersionResource{}
	for _, kind := range resource.ListKinds() {
		if _, known := builtIn[kind.GroupKind]; known {
			continue
		}
		at := slices.IndexFunc(definitions, func(d *apiextensionsv1.CustomResourceDefinition) bool {
			return d.Spec.Group == kind.Group && d.Spec.Names.Kind == kind.Kind && isEstablished(d)
		})
		if at < 0 {
			continue
		}
		if version := findServed(definitions[at], kind.Versions); version != "" {
			found[kind.GroupKind] = schema.GroupVersionResource{
				Group: kind.Group, Version: version, Resource: definitions[at].Spec.Names.Plural,
			}
		}
	}
	return found
}

// findServed gives the first of the versions that a CRD serves; empty for none.
func findServed(d *apiextensionsv1.CustomResourceDefinition, versions []string) string {
	for _, wanted := range versions {
		for _, v := range d.Spec.Versions {
			if v.Name == wanted && v.Served {
				return wanted
			}
		}
	}
	return ""
}

func isEstablished(d *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue && d.DeletionTimestamp == nil
		}
	}
	return false
}
