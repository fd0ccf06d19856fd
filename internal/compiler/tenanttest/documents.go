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

// attacks are what hostile namespaces try: each is one or some objects.
var attacks = splitAttacks()

func splitAttacks() (all [][]string) {
	for _, text := range strings.Split(strings.TrimSpace(hostileText), "\n# attack: ")[1:] {
		_, objects, _ := strings.Cut(text, "\n") // below what it is about
		all = append(all, strings.Split(objects, "\n---\n"))
	}
	return all
}
