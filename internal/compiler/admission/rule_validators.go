package admission

import (
	"maps"
	"slices"
	"strings"
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// ruleValidators are a server's validators for the CEL rules of a schema. One has all rules, the others have those of a
// few places, for an invalid object breaks few. With the first alone a file of invalid objects would take four times as
// long as a valid one.
type ruleValidators struct {
	schema *structuralschema.Structural
	// all gives nil if there are no rules.
	all func() *cel.Validator

	lock sync.Mutex
	some map[string]*cel.Validator // by their places
}

// maxSome is how many sets of places have validators of their own. With more, hostile files would fill the memory with
// them.
const maxSome = 32

func newRuleValidators(s *structuralschema.Structural) *ruleValidators {
	return &ruleValidators{
		schema: s, some: map[string]*cel.Validator{},
		all: sync.OnceValue(func() *cel.Validator { return cel.NewValidator(s, true, celconfig.PerCallLimit) }),
	}
}

// at gives the validator of the rules at some places.
func (r *ruleValidators) at(places map[string]bool) *cel.Validator {
	name := strings.Join(slices.Sorted(maps.Keys(places)), " ")
	r.lock.Lock()
	defer r.lock.Unlock()
	if v, made := r.some[name]; made {
		return v
	}
	if len(r.some) == maxSome {
		return r.all()
	}
	r.some[name] = cel.NewValidator(keepRules(r.schema, "", places), true, celconfig.PerCallLimit)
	return r.some[name]
}

// keepRules returns a schema with no rules but those at some places.
func keepRules(s *structuralschema.Structural, at string, places map[string]bool) *structuralschema.Structural {
	kept := *s
	if !places[at] {
		kept.XValidations = nil
	}
	if s.Items != nil {
		kept.Items = keepRules(s.Items, at+stepItems, places)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		additional := *s.AdditionalProperties
		additional.Structural = keepRules(s.AdditionalProperties.Structural, at+stepValues, places)
		kept.AdditionalProperties = &additional
	}
	kept.Properties = make(map[string]structuralschema.Structural, len(s.Properties))
	for name, property := range s.Properties {
		kept.Properties[name] = *keepRules(&property, at+"/"+name, places)
	}
	if s.Properties == nil {
		kept.Properties = nil
	}
	return &kept
}
