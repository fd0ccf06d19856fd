package admission

import (
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
)

// ruleProver shows of an object that it keeps all CEL rules of a schema. It can't say more than that: where it fails to
// show it, a server's own validator (package cel of apiextensions) has the word, and words the errors.
//
// It is there because most objects keep the rules, and a server's validator takes six times as long to find that out.
// The rules are the same, compiled in the same environment for the same types. What is left out is the count of their
// cost: the sum of what each rule costs at worst, which compiling it tells, stays within the limits of a server.
// Rules are compiled when the first object comes that they are about.
type ruleProver struct {
	at         string // where in the schema, as in rulePath
	rules      func() ruleSet
	items      *ruleProver
	values     *ruleProver // of additionalProperties
	properties map[string]*ruleProver
}

// rootProver gives the prover of a kind's schema, nil where it has no rule.
func rootProver(s *structuralschema.Structural) *ruleProver {
	return newProver("", s, model.WithTypeAndObjectMeta(s), model.SchemaDeclType(s, true))
}

// The steps of a path in a schema, besides the names of properties.
const (
	stepItems  = "/[]"
	stepValues = "/{}"
)

// newProver gives the prover of a schema and what lies below it, nil where there is no rule. Seen is the schema of what
// rules see of objects, and declared its type in rules.
func newProver(at string, s, seen *structuralschema.Structural, declared *apicel.DeclType) *ruleProver {
	if declared == nil {
		return nil // as in a server, a field without a type in CEL has no rules
	}
	p := &ruleProver{at: at, properties: map[string]*ruleProver{}}
	if len(s.XValidations) > 0 || isBeyondProver(s) {
		p.rules = sync.OnceValue(func() ruleSet { return compileRules(s, seen, declared) })
	}
	if s.Items != nil {
		p.items = newProver(at+stepItems, s.Items, s.Items, declared.ElemType)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		p.values = newProver(
			at+stepValues,
			s.AdditionalProperties.Structural,
			s.AdditionalProperties.Structural,
			declared.ElemType,
		)
	}
	for name, property := range s.Properties {
		escaped, _ := apicel.Escape(name)
		if f, has := declared.Fields[escaped]; has {
			if sub := newProver(at+"/"+name, &property, &property, f.Type); sub != nil {
				p.properties[name] = sub
			}
		}
	}
	if p.rules == nil && p.items == nil && p.values == nil && len(p.properties) == 0 {
		return nil
	}
	return p
}

// isBeyondProver tells whether a schema has what provers know nothing of, and no CRD that limpet reads has: rules
// within allOf, whole objects within objects, and rules about fields whose names CEL can't write.
func isBeyondProver(s *structuralschema.Structural) bool {
	if s.XEmbeddedResource || s.ValueValidation != nil && len(s.ValueValidation.AllOf) > 0 {
		return true
	}
	for name := range s.Properties {
		if _, can := apicel.Escape(name); !can {
			return true
		}
	}
	return false
}

// unproven are the places of a schema whose rules an object was not shown to keep.
type unproven struct {
	budget uint64 // what may yet be spent on rules, in CEL's units of cost
	places map[string]bool
	// beyond says that nothing is known of the rules of some place.
	beyond bool
}

// findUnproven looks at an object and what lies below it.
func (u *unproven) findUnproven(p *ruleProver, obj any) {
	if p == nil || obj == nil {
		return // null has no rules
	}
	if p.rules != nil {
		switch set := p.rules(); {
		case set.unsound || set.cost > u.budget:
			u.beyond = true
		default:
			u.budget -= set.cost
			if !set.proves(obj) {
				u.places[p.at] = true
			}
		}
	}
	switch obj := obj.(type) {
	case []any:
		for _, item := range obj {
			u.findUnproven(p.items, item)
		}
	case map[string]any:
		for name, value := range obj {
			u.findUnproven(p.values, value)
			u.findUnproven(p.properties[name], value)
		}
	}
}

// ruleSet is the rules that stand at one place of a schema.
type ruleSet struct {
	view    common.Schema
	rules   []interpreter.Interpretable
	cost    uint64 // of all of them, at worst
	unsound bool   // a server's validator must be asked
}

// compileRules compiles the rules that stand at one place of a schema. Those about the old object are left out: on
// creation there is none.
func compileRules(s, seen *structuralschema.Structural, declared *apicel.DeclType) ruleSet {
	set := ruleSet{view: newView(seen), unsound: isBeyondProver(s)}
	env := &usedEnvironment{EnvLoader: cel.StoredExpressionsEnvLoader()}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiled, err := cel.Compile(s, declared, celconfig.PerCallLimit, base, env)
	if err != nil {
		return ruleSet{unsound: true}
	}
	for i, c := range compiled {
		rule := s.XValidations[i]
		switch {
		case c.Error != nil || rule.OptionalOldSelf != nil || c.MaxCost > celconfig.PerCallLimit:
			set.unsound = true
		case c.Program == nil || c.UsesOldSelf:
		default:
			planned, err := planRule(env.used, rule.Rule)
			set.unsound = set.unsound || err != nil
			set.rules = append(set.rules, planned)
			set.cost += c.MaxCost
		}
	}
	return set
}

// usedEnvironment notes the environment that rules are compiled in.
type usedEnvironment struct {
	cel.EnvLoader
	used *celgo.Env
}

// RuleEnv is that of cel.EnvLoader.
func (u *usedEnvironment) RuleEnv(all *environment.EnvSet, rule string) *celgo.Env {
	u.used = u.EnvLoader.RuleEnv(all, rule)
	return u.used
}

// planRule makes a rule ready to run as CEL's own programs do, but without a count of its cost.
func planRule(env *celgo.Env, rule string) (interpreter.Interpretable, error) {
	ast, issues := env.Compile(rule)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	dispatcher := interpreter.NewDispatcher()
	for _, function := range env.Functions() {
		bindings, err := function.Bindings()
		if err != nil {
			return nil, err
		}
		if err := dispatcher.Add(bindings...); err != nil {
			return nil, err
		}
	}
	attributes := interpreter.NewAttributeFactory(env.Container, env.CELTypeAdapter(), env.CELTypeProvider())
	return interpreter.NewInterpreter(dispatcher, env.Container, env.CELTypeProvider(), env.CELTypeAdapter(), attributes).
		NewInterpretable(ast.NativeRep(), interpreter.Optimize(),
			interpreter.CompileRegexConstants(interpreter.MatchesRegexOptimization))
}

// proves reports whether an object keeps the rules for certain.
func (r ruleSet) proves(obj any) bool {
	object := ruleSubject{common.UnstructuredToVal(obj, r.view)}
	for _, rule := range r.rules {
		if rule.Eval(object) != types.True {
			return false
		}
	}
	return true
}

// ruleSubject is the one variable of rules.
type ruleSubject struct{ value ref.Val }

// ResolveName and Parent are those of interpreter.Activation.
func (s ruleSubject) ResolveName(name string) (any, bool) { return s.value, name == cel.ScopedVarName }
func (s ruleSubject) Parent() interpreter.Activation      { return nil }
