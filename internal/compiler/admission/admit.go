package admission

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Admitter knows the CRDs that a cluster of one generation has. It is safe for concurrent use.
type Admitter struct {
	release *crdRelease
	extra   map[schema.GroupKind]*crdDefinition
}

// New gives the admitter of a generation with further CRDs, each text YAML or JSON with any number of documents.
// Such a CRD replaces the generation's own of the same kind. An error names the generation or the CRD at fault;
// CEL rules that don't compile show only in Admit, as a server would refuse a CRD with such rules.
func New(apiRelease APIRelease, extra ...[]byte) (*Admitter, error) {
	r, ok := releases[apiRelease]
	if !ok {
		return nil, fmt.Errorf(
			"unknown generation of Gateway API %q: supported are %q and %q",
			apiRelease,
			Gateway16,
			Gateway17,
		)
	}
	a := &Admitter{release: r, extra: map[schema.GroupKind]*crdDefinition{}}
	for i, text := range extra {
		definitions, err := parseYAML(text)
		if err != nil {
			return nil, fmt.Errorf("further CRD %d: %w", i+1, err)
		}
		for _, d := range definitions {
			a.extra[d.kind] = d
		}
	}
	return a, nil
}

// findVersion gives a kind's version; nil if it is not served.
func (a *Admitter) findVersion(gvk schema.GroupVersionKind) *crdVersion {
	d, ok := a.extra[gvk.GroupKind()]
	if !ok {
		d = a.release.findDefinition(gvk.GroupKind())
	}
	if d == nil {
		return nil
	}
	return d.versions[gvk.Version]
}

// Admit fills in an object's defaults, in place, and gives everything that a server would refuse it for, in the
// order of the fields' paths. Null fields that may not be null are dropped, as a server does. Unknown fields stay
// where they are and are errors for which IsUnknownField is true; status is left alone.
//
// The object must be made of what decoded JSON is made of (map[string]any, []any, string, bool, int64, float64,
// nil), with whole numbers as int64. No two calls may share an object.
func (a *Admitter) Admit(obj map[string]any) field.ErrorList {
	v, errs := a.resolve(obj)
	if v == nil {
		return errs
	}
	status, had := obj["status"]
	delete(obj, "status")
	if hasLongList(obj) {
		if errs := v.schema.findTooLong(nil, obj, v.schema.schema); len(errs) > 0 {
			slices.SortStableFunc(errs, compareErrors)
			return errs
		}
	}
	pruned, unknown := v.dropUnknown(obj)
	v.setDefaults(obj)
	judged := obj
	if len(unknown) > 0 { // a server judges what is left without them
		v.setDefaults(pruned)
		judged = pruned
	}
	errs = append(unknownFields(unknown), v.checkMetadata(obj)...)
	errs = append(errs, v.checkSchema(judged, errs)...)
	if had {
		obj["status"] = status
	}
	slices.SortStableFunc(errs, compareErrors)
	return errs
}

// Default fills in an object's defaults, in place, and checks nothing. The object is one that Admit would take.
func (a *Admitter) Default(obj map[string]any) {
	if v, _ := a.resolve(obj); v != nil {
		v.setDefaults(obj)
	}
}

// resolve finds the schema that an object's apiVersion and kind call for; it gives errors if there is none.
func (a *Admitter) resolve(obj map[string]any) (*crdVersion, field.ErrorList) {
	var errs field.ErrorList
	texts := map[string]string{}
	for _, name := range []string{"apiVersion", "kind"} {
		switch s, isText := obj[name].(string); {
		case s != "":
			texts[name] = s
		case obj[name] == nil || isText:
			errs = append(errs, field.Required(field.NewPath(name), ""))
		default:
			errs = append(errs, field.TypeInvalid(field.NewPath(name), obj[name], "must be a string"))
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	v := a.findVersion(schema.FromAPIVersionAndKind(texts["apiVersion"], texts["kind"]))
	if v == nil {
		return nil, field.ErrorList{field.Invalid(field.NewPath("kind"), texts["kind"],
			fmt.Sprintf("no matches for kind %q in version %q", texts["kind"], texts["apiVersion"]))}
	}
	return v, nil
}

func (v *crdVersion) setDefaults(obj map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)
	defaulting.Default(obj, v.structural)
	delete(obj, "status") // Gateways get one by default, which creation drops
}

// checkSchema runs the schema's checks in a server's order. The CEL rules come last and rely on sound types, so errors
// about types, found here or before, keep them from running.
func (v *crdVersion) checkSchema(obj map[string]any, before field.ErrorList) field.ErrorList {
	errs := v.schema.validate(nil, obj)
	errs = append(errs, objectmeta.Validate(nil, obj, v.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
	blocked := slices.ContainsFunc(before, blocksRules) || slices.ContainsFunc(errs, blocksRules)
	rules := v.rules.all
	if !blocked {
		if rules = v.findBroken(obj); rules == nil {
			return errs
		}
	}
	validator := rules()
	if validator == nil {
		return errs
	}
	if blocked {
		return append(errs, field.Invalid(nil, nil, rulesUnchecked))
	}
	broken, _ := validator.Validate(context.Background(), nil, v.structural, obj, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}

const rulesUnchecked = "some validation rules were not checked because the object was invalid; " +
	"correct the existing errors to complete validation"

// SaysUnchecked tells whether an error of Admit, which comes with others, says that for them rules were left out.
func SaysUnchecked(e *field.Error) bool { return e.Detail == rulesUnchecked }

// findBroken gives a server's validator for the CEL rules that the object is not shown to keep, nil where it keeps all
// for certain.
func (v *crdVersion) findBroken(obj map[string]any) func() *cel.Validator {
	found := unproven{budget: celconfig.RuntimeCELCostBudget, places: map[string]bool{}}
	found.findUnproven(v.prover(), obj)
	switch {
	case found.beyond:
		return v.rules.all
	case len(found.places) == 0:
		return nil
	default:
		return func() *cel.Validator { return v.rules.at(found.places) }
	}
}

// blocksRules tells whether a server leaves CEL rules out after this error. The list is that of hasBlockingErr in
// apiextensions' pkg/registry/customresource/strategy.go.
func blocksRules(e *field.Error) bool {
	switch e.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
		field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}
