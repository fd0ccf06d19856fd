package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// reportDefaultsForAll says once of a default above routes that it turns sessions on for each of them by being there
// (S9): who writes one for a timeout may not expect that.
func (d *reporter) reportDefaultsForAll(s *Session) {
	by := s.Effective.TurnedOnBy
	above := by.Level == precedence.LevelOf(precedence.Default, precedence.OnGatewayClass) ||
		by.Level == precedence.LevelOf(precedence.Default, precedence.OnGateway) ||
		by.Level == precedence.LevelOf(precedence.Default, precedence.OnListener) ||
		by.Level == precedence.LevelOf(precedence.Default, precedence.OnNamespace)
	if !above || !by.Implied || d.reported[by.Origin] {
		return
	}
	if d.reported == nil {
		d.reported = map[object.Origin]bool{}
	}
	d.reported[by.Origin] = true
	d.adviseWhereWritten(
		by,
		"turns sessions on for every route below that says nothing of them: for those alone that ask for sessions "+
			"add disabled: true here, and write the rest as an override; disabled: false says that it is meant",
	)
}
