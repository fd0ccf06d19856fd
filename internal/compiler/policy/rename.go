package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

func (c *claim) ruleName() string { return fmt.Sprintf("%s rule %d", c.route, c.rule) }

// listRenames lists the names that were suffixed: first for the backends of a rule, then for other rules of a
// namespace, then for those of others.
func listRenames(rules []*namedRule) (renames []Rename) {
	for i, semanticsRule := range renamingRules {
		for _, r := range rules {
			for j, c := range r.claims {
				names := [...]string{c.written, c.name, r.names[j].shared, r.names[j].text}
				if names[i] == names[i+1] {
					continue
				}
				rename := Rename{
					Route: c.route, Rule: c.rule, SemanticsRule: semanticsRule, From: names[i], To: names[i+1],
					At: c.namePath(), Rival: r.names[j].rival,
				}
				if c.nameField != nil {
					rename.By = c.nameField.FieldValue
				}
				renames = append(renames, rename)
			}
		}
	}
	return renames
}

// renamingRules are the rules of semantics by which names are suffixed, in their order.
var renamingRules = []string{"S27", "S26", "S28"}

// CompareRenames orders the renames of several parts of an input as those of one input.
func CompareRenames(a, b Rename) int {
	step := func(r Rename) int { return slices.Index(renamingRules, r.SemanticsRule) }
	return cmp.Or(cmp.Compare(step(a), step(b)), resource.ByAge(a.Route, b.Route))
}

// namePath is the field of the route at which messages about the session's name are reported.
func (c *claim) namePath() string {
	if c.nameField != nil && c.nameField.Origin.Ref == c.route.Ref() {
		return c.nameField.Path
	}
	return c.fieldPath().String()
}
