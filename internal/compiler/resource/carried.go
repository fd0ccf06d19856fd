package resource

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Carried gives every field that may be set, by kind and path; [] stands for any index. A field that is not here, nor
// below one that is, is refused as "not supported yet". Tests hold the list to the Go types, and show for each
// field that is not ignored that it has an effect.
var Carried = sync.OnceValue(func() map[string]map[string]Treatment {
	return map[string]map[string]Treatment{
		"GatewayClass": {
			"spec.controllerName": ignored("says who runs the class in a cluster; the user of a compiler says it by running it"),
			"spec.description":    ignored("is for people"),
		},
		"Gateway":                  gatewayFields(),
		"HTTPRoute":                rows(routeFields(httpMatches()), under("spec.rules[]", tryFields())),
		"GRPCRoute":                routeFields(grpcMatches()),
		"ReferenceGrant":           under("spec", rows(under("from[]", all("group", "kind", "namespace")), under("to[]", all("group", "kind", "name")))),
		"Secret":                   rows(all("type", "data", "stringData"), fields{"immutable": ignored("is for the API server")}),
		"Service":                  serviceFields(),
		"EndpointSlice":            sliceFields(),
		"XBackend":                 xbackendFields(),
		"XBackendTrafficPolicy":    trafficFields(),
		"SessionPersistencePolicy": sessionPolicyFields(),
		"LoadBalancerPolicy":       rows(under("spec.targetRefs[]", all("group", "kind", "name", "sectionName")), under("spec", balancingFields())),
		KindHTTPProxy:              httpProxyFields(),
	}
})

// common holds for every kind.
var common = map[string]Treatment{
	"apiVersion": carried,
	"kind":       carried,
	"metadata":   ignored("name, namespace, labels and creation time are read; the rest is bookkeeping"),
}

// setField is a field that a document sets and nobody carries.
type setField struct {
	path  string
	value any // nil where the field as a whole is not carried, else the value that is not
}

// uncarried finds what a document of a kind sets and limpet does not carry.
func uncarried(kind string, fields map[string]any) []setField {
	w := walker{table: Carried()[kind], leading: leading()[kind]}
	w.mapping("", "", fields)
	return w.found
}

type walker struct {
	table   map[string]Treatment
	leading map[string]bool
	found   []setField
}

// leading has, by kind, how the paths of Carried begin that lead into a field: up to a dot, or to the brackets of a list.
var leading = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for kind, table := range Carried() {
		all[kind] = map[string]bool{}
		for path := range table {
			for i, c := range path {
				if c == '.' || c == ']' {
					all[kind][path[:i+1]] = true
				}
			}
		}
	}
	return all
})

func (w *walker) mapping(path, pattern string, fields map[string]any) {
	for name, value := range fields {
		w.value(join(path, name), join(pattern, name), value)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// value looks at one field; path has its indices, pattern [] in place of each.
func (w *walker) value(path, pattern string, value any) {
	if list, is := value.([]any); value == nil || is && len(list) == 0 {
		return // the same as an absent field
	}
	if t, known := w.treatment(pattern); known {
		if !t.carries(value) {
			w.found = append(w.found, setField{path, value})
		}
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if w.leading[pattern+"."] {
			w.mapping(path, pattern, v)
			return
		}
	case []any:
		if w.leading[pattern+"[]"] {
			for i, item := range v {
				w.value(path+"["+strconv.Itoa(i)+"]", pattern+"[]", item)
			}
			return
		}
	}
	w.found = append(w.found, setField{path: path})
}

func (w *walker) treatment(pattern string) (Treatment, bool) {
	if t, ok := common[pattern]; ok {
		return t, true
	}
	t, ok := w.table[pattern]
	return t, ok
}

// refuse reports what is not carried, except where the field has an error already.
func refuse(d *read.Document, left []setField, errors []report.Problem, rep *report.Report) {
	for _, f := range left {
		if slices.ContainsFunc(errors, func(p report.Problem) bool { return p.Path == report.Shown(f.path) }) {
			continue
		}
		message := "not supported yet"
		if f.value != nil {
			message = fmt.Sprintf("not supported yet: %#v", f.value)
		}
		rep.ErrorAt(d, f.path, message)
	}
}
