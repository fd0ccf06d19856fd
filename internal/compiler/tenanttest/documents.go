package tenanttest

import (
	_ "embed"
	"strings"
)

//go:embed honest.yaml
var honestText string

//go:embed hostile.yaml
var hostileText string

// honestTemplates are the objects of an honest namespace.
var honestTemplates = strings.Split(honestText, "\n---\n")

// keptMark is in objects that honest namespaces never take away.
const keptMark = "# kept"

// attack is something that hostile namespaces try: one or some objects.
type attack struct {
	objects []string
	// invalid ones are such that no API server admits them.
	invalid bool
}

var attacks = splitAttacks()

func splitAttacks() (all []attack) {
	for _, text := range strings.Split(strings.TrimSpace(hostileText), "\n# attack: ")[1:] {
		about, objects, _ := strings.Cut(text, "\n")
		all = append(all, attack{strings.Split(objects, "\n---\n"), strings.HasPrefix(about, "invalid: ")})
	}
	return all
}

// pickAttack picks one, seldom an invalid one, for what stands in a file with such an object is not taken over by
// limpet run.
func (w *World) pickAttack() attack {
	for {
		if a := attacks[w.random.IntN(len(attacks))]; !a.invalid || w.random.IntN(8) == 0 {
			return a
		}
	}
}
