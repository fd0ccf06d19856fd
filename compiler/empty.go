package compiler

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// explainEmpty gives the problem of an input of which nothing is served, with what would change that, by what else
// there is to say.
func explainEmpty(problems []Problem, passedOver map[string]int) Problem {
	var noClass, otherClass, refusedClass, isExplained bool
	for _, p := range problems {
		refused := p.Verdict() == report.Refused
		switch {
		case p.Code == report.NoClass:
			noClass = true
		case p.Code == report.OtherClass:
			otherClass = true
		case p.Ref.Kind == object.KindGatewayClass && refused:
			refusedClass = true
		case p.Ref.Kind == object.KindGateway: // be it a warning: there is one
			isExplained = true
		case p.Object == "" && refused:
			isExplained = true
		}
	}
	why := "there is no Gateway in the input"
	switch {
	case refusedClass || isExplained && !noClass:
		why = "what is said before this says why"
	case noClass:
		why = "a Gateway counts when its GatewayClass is in the input and has limpet's controllerName; with " +
			"--assume-class, which takes no value, a class that is not in the input counts as limpet's"
	case otherClass:
		why = "other controllers serve the Gateways' classes; --controller-name NAME says what limpet's controllerName is"
	case passedOver["Ingress"] > 0:
		why += ", and limpet reads no Ingress: docs/migrate.md has what to write in its place"
	}
	why = "no listener is left, so nothing would be served: " + why
	return Problem{Code: report.NothingServed, LeftOut: true, Message: why}
}
