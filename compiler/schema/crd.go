package schema

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/limpet-proxy/limpet/compiler/read"
	"github.com/limpet-proxy/limpet/compiler/report"
)

//go:embed crds/*.json
var crdFiles embed.FS

// crd is one kind's schema, compiled the way an API server compiles it.
type crd struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// lazyCRD compiles a schema when the first object of its kind comes: CEL rules take up to 0.1 s.
func lazyCRD(name string) func() *crd {
	return sync.OnceValue(func() *crd {
		c, err := loadCRD("crds/" + name + ".json")
		if err != nil {
			panic(fmt.Sprintf("schema: %s, which is part of this program: %v", name, err)) // no input leads here
		}
		return c
	})
}

func loadCRD(file string) (*crd, error) {
	text, err := crdFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &props); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &crd{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// prune takes unknown fields out of the document and reports them.
func (c *crd) prune(d *read.Document, rep *report.Report) {
	unknown := pruning.PruneWithOptions(d.Fields, c.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		rep.ErrorAt(d, path, "unknown field")
	}
}

// validate fills in the defaults and checks the document as an API server does on creation.
func (c *crd) validate(d *read.Document, rep *report.Report) {
	defaulting.PruneNonNullableNullsWithoutDefaults(d.Fields, c.structural)
	defaulting.Default(d.Fields, c.structural)
	errs := validation.ValidateCustomResource(nil, d.Fields, c.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, d.Fields)...)
	if len(errs) == 0 { // CEL rules rely on the types being right, as they may in an API server
		rules, _ := c.rules.Validate(context.Background(), nil, c.structural, d.Fields, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, rules...)
	}
	for _, e := range errs {
		rep.Error(d, plain(e))
	}
}

// plain takes the path out of the detail, where the schema validator repeats it.
func plain(e *field.Error) *field.Error {
	e.Detail = strings.TrimPrefix(e.Detail, e.Field+" in body ")
	return e
}
