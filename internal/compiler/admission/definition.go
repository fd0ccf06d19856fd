package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// crdDefinition is what a CRD says: one kind, in the versions that a server serves.
type crdDefinition struct {
	kind       schema.GroupKind
	namespaced bool
	versions   map[string]*crdVersion
}

// crdVersion is one version of a kind.
type crdVersion struct {
	namespaced bool
	structural *structuralschema.Structural // for pruning, defaulting and lists with keys
	schema     *schemaValidator             // for types, patterns and limits
	prover     func() *ruleProver           // shows that objects keep the CEL rules; gives nil if there are none
	rules      *ruleValidators              // for the CEL rules of the others
}

func parseJSON(text []byte) (*crdDefinition, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	return newDefinition(&crd)
}

// parseYAML reads CRDs from YAML or JSON with any number of documents.
func parseYAML(text []byte) ([]*crdDefinition, error) {
	var all []*crdDefinition
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		var crd apiextensionsv1.CustomResourceDefinition
		err := decoder.Decode(&crd)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		d, err := newDefinition(&crd)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
}

func newDefinition(crd *apiextensionsv1.CustomResourceDefinition) (*crdDefinition, error) {
	if crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() || crd.Kind != "CustomResourceDefinition" {
		return nil, fmt.Errorf("%s of %q is not a CustomResourceDefinition of %s",
			crd.Kind, crd.APIVersion, apiextensionsv1.SchemeGroupVersion)
	}
	d := &crdDefinition{
		kind:       schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind},
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		versions:   map[string]*crdVersion{},
	}
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return nil, fmt.Errorf("%s: version %s has no schema", d.kind, v.Name)
		}
		compiled, err := newVersion(v.Schema.OpenAPIV3Schema, d.namespaced)
		if err != nil {
			return nil, fmt.Errorf("%s: version %s: %w", d.kind, v.Name, err)
		}
		d.versions[v.Name] = compiled
	}
	return d, nil
}

func newVersion(props *apiextensionsv1.JSONSchemaProps, namespaced bool) (*crdVersion, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal,
		nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	_, openapi, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	rules := newRuleValidators(structural)
	prover := sync.OnceValue(func() *ruleProver { return rootProver(structural) })
	return &crdVersion{
		namespaced: namespaced,
		structural: structural,
		schema:     newSchemaValidator(openapi),
		prover:     prover,
		rules:      rules,
	}, nil
}
