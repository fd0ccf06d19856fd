package precedence

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// CheckPolicy says what is wrong with a SessionPersistencePolicy as a whole: with each of its blocks, with fields that
// exclude each other, and with its targets. It refuses what the CRD refuses, whatever has admitted the document (S49).
func CheckPolicy(origin object.Origin, spec *v1alpha1.SessionPersistencePolicySpec) policyconfig.ErrorList {
	errs := slices.Concat(checkTargets(spec), checkStrategy(spec), checkScope(spec))
	for _, b := range PolicyBlocks(origin, object.TargetRef{Ref: object.Ref{Kind: object.KindService}}, spec) {
		errs = append(errs, checkFieldSets(b.Path, b.Settings)...)
		errs = append(errs, CheckBlock(b)...)
	}
	return errs
}

// strategies are those that a policy may name.
var strategies = []v1alpha1.MergeStrategy{
	v1alpha1.AtomicDefaults, v1alpha1.PatchDefaults, v1alpha1.AtomicOverrides, v1alpha1.PatchOverrides,
}

func checkStrategy(spec *v1alpha1.SessionPersistencePolicySpec) (errs policyconfig.ErrorList) {
	switch s := spec.Strategy; {
	case s == nil:
	case !slices.Contains(strategies, *s):
		errs = append(errs, policyconfig.Error{Path: "spec.strategy", Message: fmt.Sprintf("Unsupported value: %q", *s)})
	case spec.Default != nil || spec.Override != nil:
		errs = append(errs, policyconfig.Error{
			Path:    "spec.strategy",
			Message: "Forbidden: may not be set together with default or override, which are strategies of their own",
		})
	}
	return errs
}

func checkScope(spec *v1alpha1.SessionPersistencePolicySpec) (errs policyconfig.ErrorList) {
	switch s := spec.Scope; {
	case s == nil:
	case *s != v1alpha1.ScopeRule && *s != v1alpha1.ScopeRoute:
		errs = append(errs, policyconfig.Error{Path: scopePath, Message: fmt.Sprintf("Unsupported value: %q", *s)})
	case slices.ContainsFunc(ListTargets("", spec), isNoRoute):
		errs = append(errs, policyconfig.Error{
			Path: scopePath, Message: "Forbidden: may only be set for HTTPRoutes and GRPCRoutes without sectionName",
		})
	}
	return errs
}

// isNoRoute reports whether a target is no route whose rules could share sessions.
func isNoRoute(a Attachment) bool {
	return a.Target.Kind != object.KindHTTPRoute && a.Target.Kind != object.KindGRPCRoute || a.Target.Section != ""
}

// checkFieldSets finds fields of a policy's block that exclude each other.
func checkFieldSets(path string, s *sessionSettings) (errs policyconfig.ErrorList) {
	forbid := func(wrong bool, name, message string) {
		if wrong {
			errs = append(errs, policyconfig.Error{Path: path + "." + name, Message: "Forbidden: " + message})
		}
	}
	rest := *s
	rest.Disabled = nil
	forbid(s.Disabled != nil && *s.Disabled && !rest.IsEmpty(), "disabled", "true excludes every other field")
	forbid(
		s.AbsoluteTimeout != nil && s.AbsoluteTimeoutSeconds != nil,
		"absoluteTimeoutSeconds",
		"may not be set together with absoluteTimeout",
	)
	forbid(
		s.IdleTimeout != nil && s.IdleTimeoutSeconds != nil,
		"idleTimeoutSeconds",
		"may not be set together with idleTimeout",
	)
	forbid(
		s.Header != nil && (s.Type == nil || *s.Type != policyconfig.TypeHeader),
		"header",
		"may only be set with type: Header",
	)
	forbid(
		s.Header != nil && s.SessionName != nil,
		"sessionName",
		"may not be set together with header, which names the session",
	)
	return errs
}

// maxTargets is how many targets a policy may have.
const maxTargets = 16

func checkTargets(spec *v1alpha1.SessionPersistencePolicySpec) (errs policyconfig.ErrorList) {
	refuse := func(path, message string) {
		errs = append(errs, policyconfig.Error{Path: path, Message: message})
	}
	if (len(spec.TargetRefs) > 0) == (spec.TargetRef != nil) {
		refuse("spec", "Invalid value: write exactly one of targetRefs and targetRef")
	}
	if len(spec.TargetRefs) > maxTargets {
		refuse("spec.targetRefs", fmt.Sprintf("Too many: %d: must have at most %d items", len(spec.TargetRefs), maxTargets))
	}
	seen := map[object.TargetRef]bool{}
	for _, a := range ListTargets("", spec) {
		if seen[a.Target] {
			refuse(a.Path, "Duplicate value")
		}
		seen[a.Target] = true
	}
	for _, ref := range listReferences(spec) {
		group := object.APIKind(string(ref.Kind)).Group
		if ref.Group != nil && string(*ref.Group) != group || ref.Name == "" {
			written := *cmp.Or(ref.Group, new(gatewayv1.Group))
			refuse("spec.targetRefs", fmt.Sprintf("Invalid value: %q of the group %q is no target", ref.Kind, written))
		}
	}
	return errs
}
