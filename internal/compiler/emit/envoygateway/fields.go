package envoygateway

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// fieldNames are the names of the fields that Envoy Gateway's own kinds have in the release that limpet knows, by kind;
// null where anything may stand.
//
//go:embed fields.json
var fieldNames []byte

// namedFields are those of an object, by name; nil where anything may stand.
type namedFields map[string]namedFields

var loadFields = sync.OnceValues(func() (map[string]namedFields, error) {
	var all map[string]namedFields
	err := json.Unmarshal(fieldNames, &all)
	return all, err
})

// reportUnknownFields warns of fields that objects of the user's have and their kind has not, for an API server drops
// them and limpet writes these objects again. A newer Envoy Gateway may know more.
func (e *emitter) reportUnknownFields() {
	known, err := loadFields()
	if err != nil && e.err == nil {
		e.err = err
	}
	for _, kind := range slices.Sorted(maps.Keys(known)) {
		for _, o := range e.plan.Objects[kind] {
			doc := jsonObject{}
			if err := parseJSON(o.JSON, &doc); err == nil {
				e.reportUnknown(o, known[kind], "", jsonObject{"spec": doc["spec"]})
			}
		}
	}
}

// reportUnknown warns of those of a part of an object, at a path.
func (e *emitter) reportUnknown(o *ir.Object, known namedFields, path string, part any) {
	switch part := part.(type) {
	case []any:
		for i, item := range part {
			e.reportUnknown(o, known, fmt.Sprintf("%s[%d]", path, i), item)
		}
	case jsonObject:
		if known == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(part)) {
			at := name
			if path != "" {
				at = path + "." + name
			}
			below, is := known[name]
			if !is {
				names := slices.Sorted(maps.Keys(known))
				e.rep.WarnAt(report.UnknownField, o.Subject, at,
					"unknown field: Envoy Gateway "+release+" has none of this name"+suggest.DidYouMean(name, names))
				continue
			}
			e.reportUnknown(o, below, at, part[name])
		}
	}
}

// release is the one of Envoy Gateway that fieldNames is from.
const release = "1.9"
