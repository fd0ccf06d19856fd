package proxies

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// Merge gives what holds for a Gateway: what its own ProxyConfig says, and else what its class's says. Either may be
// nil.
func Merge(class, own *v1alpha1.ProxyConfigSpec) (*v1alpha1.ProxyConfigSpec, error) {
	switch {
	case class == nil && own == nil:
		return &v1alpha1.ProxyConfigSpec{}, nil
	case class == nil:
		return own.DeepCopy(), nil
	case own == nil:
		return class.DeepCopy(), nil
	}
	below := withoutRivals(class.DeepCopy(), own)
	base, err := toFields(below)
	if err != nil {
		return nil, err
	}
	patch, err := toFields(own)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(mergeFields(base, patch, false))
	if err != nil {
		return nil, err
	}
	merged := &v1alpha1.ProxyConfigSpec{}
	if err := json.Unmarshal(text, merged); err != nil {
		return nil, err
	}
	merged.Bootstrap, err = mergeRaw(class.Bootstrap, own.Bootstrap)
	return merged, err
}

// withoutRivals leaves out of a class's settings what the Gateway's own say in another way.
func withoutRivals(class, own *v1alpha1.ProxyConfigSpec) *v1alpha1.ProxyConfigSpec {
	if own.Replicas != nil {
		class.Autoscaling = nil
	}
	if own.Autoscaling != nil {
		class.Replicas = nil
	}
	if own.DisruptionBudget != nil {
		class.DisruptionBudget = nil
	}
	return class
}

func toFields(value any) (fields map[string]any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(text, &fields)
}

// mergeRaw merges two texts for a bootstrap, either of which may be nil. What the second takes out, it takes out of the
// bootstrap too.
func mergeRaw(first, second *runtime.RawExtension) (*runtime.RawExtension, error) {
	if first == nil || second == nil {
		if first == nil {
			return second, nil
		}
		return first, nil
	}
	var base, patch map[string]any
	if err := json.Unmarshal(first.Raw, &base); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(second.Raw, &patch); err != nil {
		return nil, err
	}
	text, err := json.Marshal(mergeFields(base, patch, true))
	return &runtime.RawExtension{Raw: text}, err
}

// mergeBootstrap puts a patch into a bootstrap.
func mergeBootstrap(bootstrap []byte, patch *runtime.RawExtension) ([]byte, error) {
	if patch == nil {
		return bootstrap, nil
	}
	var base, changes map[string]any
	if err := yaml.Unmarshal(bootstrap, &base); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch.Raw, &changes); err != nil {
		return nil, fmt.Errorf("spec.bootstrap: %w", err)
	}
	return yaml.Marshal(mergeFields(base, changes, false))
}

// mergeFields merges objects field by field. A field that is null is taken out; it is kept if the result is a patch
// itself.
func mergeFields(base, patch map[string]any, keepNulls bool) map[string]any {
	merged := make(map[string]any, len(base)+len(patch))
	for name, value := range base {
		merged[name] = value
	}
	for name, value := range patch {
		if value == nil && !keepNulls {
			delete(merged, name)
			continue
		}
		merged[name] = mergeValue(merged[name], value, keepNulls)
	}
	return merged
}

func mergeValue(base, patch any, keepNulls bool) any {
	switch p := patch.(type) {
	case map[string]any:
		b, _ := base.(map[string]any)
		return mergeFields(b, p, keepNulls)
	case []any:
		b, isList := base.([]any)
		if isList && areNamed(b) && areNamed(p) {
			return mergeNamed(b, p, keepNulls)
		}
	}
	return patch
}

// areNamed tells whether all of a list's items are objects with names.
func areNamed(list []any) bool {
	for _, one := range list {
		if nameOf(one) == "" {
			return false
		}
	}
	return true
}

func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// mergeNamed merges lists by the names of their items. Those of the patch that are new come at the end.
func mergeNamed(base, patch []any, keepNulls bool) []any {
	merged := append([]any{}, base...)
	for _, one := range patch {
		at := -1
		for i := range merged {
			if nameOf(merged[i]) == nameOf(one) {
				at = i
			}
		}
		if at < 0 {
			merged = append(merged, mergeValue(nil, one, keepNulls))
			continue
		}
		merged[at] = mergeValue(merged[at], one, keepNulls)
	}
	return merged
}
