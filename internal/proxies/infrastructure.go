package proxies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// AllowedKeys are the keys that labels and annotations of a Gateway's spec.infrastructure may have on the objects that
// run its proxies, or "PREFIX/*" for all with a prefix. On others injectors, clouds and policies act, which is for who
// may make Pods, and not for who may make Gateways.
type AllowedKeys []string

// reservedPrefixes are those of keys by which objects are limpet's own, or which say what a container may do.
var reservedPrefixes = []string{
	"limpet.dev", "app.kubernetes.io", gatewayv1.GroupName, "container.apparmor.security.beta.kubernetes.io",
	"container.seccomp.security.alpha.kubernetes.io", "seccomp.security.alpha.kubernetes.io",
}

// Check says what is wrong with the keys.
func (a AllowedKeys) Check() error {
	for _, key := range a {
		prefix, _, _ := strings.Cut(key, "/")
		if slices.Contains(reservedPrefixes, prefix) {
			return fmt.Errorf("%q: keys with the prefix %s are not a Gateway's to set", key, prefix)
		}
		whole, all := strings.CutSuffix(key, "/*")
		faults := validation.IsQualifiedName(whole)
		if all {
			faults = validation.IsDNS1123Subdomain(whole)
		}
		if len(faults) > 0 {
			return fmt.Errorf(
				"%q: must be the key of a label or annotation, or PREFIX/*, such as service.beta.kubernetes.io/*",
				key,
			)
		}
	}
	return nil
}

func (a AllowedKeys) has(key string) bool {
	prefix, _, hasPrefix := strings.Cut(key, "/")
	return slices.Contains(a, key) || hasPrefix && slices.Contains(a, prefix+"/*")
}

// pick gives the labels or annotations of a Gateway that are allowed.
func pick[K, V ~string](a AllowedKeys, given map[K]V) map[string]string {
	picked := map[string]string{}
	for key, value := range given {
		if a.has(string(key)) {
			picked[string(key)] = string(value)
		}
	}
	return picked
}

// leave lists those that are not.
func leave[K, V ~string](a AllowedKeys, field string, given map[K]V) (left []string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !a.has(string(key)) {
			left = append(left, field+string(key))
		}
	}
	return left
}

// LeftOut says which labels and annotations of a Gateway its proxies' objects have not got; empty for none.
func (a AllowedKeys) LeftOut(g *gatewayv1.Gateway) string {
	of := g.Spec.Infrastructure
	if of == nil {
		return ""
	}
	left := append(leave(a, "labels.", of.Labels), leave(a, "annotations.", of.Annotations)...)
	if len(left) == 0 {
		return ""
	}
	return "spec.infrastructure: Forbidden: --infrastructure-keys of limpet serve does not allow " +
		strings.Join(left, ", ") + ": left out"
}
