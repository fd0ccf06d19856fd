package resource

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
)

// Documents that are only said to be admitted (Options.AssumeAdmitted) are checked for what the compiler relies on,
// whatever else is in them: the names that identities are made of, and numbers that are put into narrower types or that
// Envoy bounds. What a kind has of these is checked next to the kind.

// checkNames checks an object's own name and namespace.
func checkNames(meta *metav1.ObjectMeta) field.ErrorList {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	if meta.Name == "" {
		return append(errs, field.Required(path.Child("name"), "every object has a name"))
	}
	if faults := apivalidation.NameIsDNSSubdomain(meta.Name, false); len(faults) > 0 {
		errs = append(errs, field.Invalid(path.Child("name"), meta.Name, strings.Join(faults, "; ")))
	}
	if faults := validation.IsDNS1123Label(meta.Namespace); meta.Namespace != "" && len(faults) > 0 {
		errs = append(errs, field.Invalid(path.Child("namespace"), meta.Namespace, strings.Join(faults, "; ")))
	}
	return errs
}

// checkRuleName refuses the name of a rule that another of the route has; names are those before it.
func checkRuleName(
	names map[gatewayv1.SectionName]bool,
	rule *field.Path,
	name *gatewayv1.SectionName,
) field.ErrorList {
	if name == nil {
		return nil
	}
	if names[*name] {
		return field.ErrorList{field.Duplicate(rule.Child("name"), *name)}
	}
	names[*name] = true
	return nil
}

func checkRange[N ~int | ~int32](path *field.Path, n, least, most N) field.ErrorList {
	if n >= least && n <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("must be between %d and %d", least, most))}
}

func checkWeight(path *field.Path, w *int32) field.ErrorList {
	if w == nil {
		return nil
	}
	return checkRange(path.Child("weight"), *w, 0, foreign.MaxWeight)
}
