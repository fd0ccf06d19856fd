package admission

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// TestProver holds the prover to the server's validator: on the corpus and on damaged copies of it both say the same.
func TestProver(t *testing.T) {
	const copies = 8
	random := rand.New(rand.NewPCG(5, 8))
	kept, broke := 0, 0
	for _, c := range readCorpus(t) {
		for range copies {
			for apiRelease := range releases {
				obj := c.parse(t)
				v, _ := newAdmitter(t, apiRelease).resolve(obj)
				if v == nil {
					continue
				}
				v.setDefaults(obj)
				for range random.IntN(4) {
					damageValue(obj, random)
				}
				if slices.ContainsFunc(v.schema.validate(nil, obj), blocksRules) || v.rules.all() == nil {
					continue
				}
				errs, _ := v.rules.all().Validate(context.Background(), nil, v.structural, obj, nil, celconfig.RuntimeCELCostBudget)
				var some field.ErrorList
				broken := v.findBroken(obj)
				if broken != nil {
					some, _ = broken().Validate(context.Background(), nil, v.structural, obj, nil, celconfig.RuntimeCELCostBudget)
				}
				if !slices.Equal(sortedErrors(some), sortedErrors(errs)) || (broken == nil) != (len(errs) == 0) {
					t.Errorf("%s, %s: the rules that are broken say %v, a server %v\n%v", apiRelease, c.id, some, errs, obj)
				} else if broken == nil {
					kept++
				} else {
					broke++
				}
			}
		}
	}
	if kept < 300 || broke < 200 {
		t.Errorf("compared %d objects that keep the rules and %d that don't; want more", kept, broke)
	}
}

func sortedErrors(errs field.ErrorList) (texts []string) {
	for _, e := range errs {
		texts = append(texts, e.Error())
	}
	slices.Sort(texts)
	return texts
}

// damageValue changes one thing, somewhere below a value: a field goes, or takes a value of a sibling; an item goes,
// comes twice, or is moved.
func damageValue(value any, random *rand.Rand) {
	switch v := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		if len(names) == 0 {
			return
		}
		name := names[random.IntN(len(names))]
		switch {
		case random.IntN(4) > 0:
			damageValue(v[name], random)
		case random.IntN(2) == 0:
			delete(v, name)
		default:
			v[name] = kruntime.DeepCopyJSONValue(v[names[random.IntN(len(names))]])
		}
	case []any:
		if len(v) == 0 {
			return
		}
		if i := random.IntN(len(v)); random.IntN(4) > 0 {
			damageValue(v[i], random)
		} else {
			v[i] = kruntime.DeepCopyJSONValue(v[random.IntN(len(v))])
		}
	}
}
