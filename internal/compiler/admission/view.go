package admission

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// view is a schema as CEL sees it, with what lies below it made once: apiextensions' own copies all properties of an
// object each time that a rule looks at one of them.
type view struct {
	*model.Structural
	items      common.Schema
	properties map[string]common.Schema
	additional common.SchemaOrBool
}

// newView makes the view of a schema and of all schemas below it.
func newView(s *structuralschema.Structural) *view {
	v := &view{Structural: &model.Structural{Structural: s}}
	if s.Items != nil {
		v.items = newView(s.Items)
	}
	if s.Properties != nil {
		v.properties = make(map[string]common.Schema, len(s.Properties))
		for name, property := range s.Properties {
			v.properties[name] = newView(&property)
		}
	}
	if additional := s.AdditionalProperties; additional != nil {
		values := viewOrBool{allows: additional.Bool}
		if additional.Structural != nil {
			values.schema = newView(additional.Structural)
		}
		v.additional = values
	}
	return v
}

// Items, Properties and AdditionalProperties are those of common.Schema.
func (v *view) Items() common.Schema                      { return v.items }
func (v *view) Properties() map[string]common.Schema      { return v.properties }
func (v *view) AdditionalProperties() common.SchemaOrBool { return v.additional }

// viewOrBool is what a schema says of further properties.
type viewOrBool struct {
	schema common.Schema
	allows bool
}

// Schema and Allows are those of common.SchemaOrBool.
func (v viewOrBool) Schema() common.Schema { return v.schema }
func (v viewOrBool) Allows() bool          { return v.allows }
