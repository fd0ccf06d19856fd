package plugincheck

import (
	"cmp"
	"slices"
	"strings"
)

// isInsertedFirst tells whether a patch puts its filter in front of all others: Istio does so with INSERT_BEFORE too,
// where that does not say before which.
func isInsertedFirst(patch value) bool {
	operation := patch.get("patch").get("operation").text()
	chained := patch.get("match").get("listener").get("filter_chain").get("filter")
	return operation == "INSERT_FIRST" || operation == "INSERT_BEFORE" && chained.get("sub_filter").missing()
}

// checkMerged reports patches of a route configuration with another operation than MERGE: Istio passes over them.
func (c *checker) checkMerged(patch value) {
	operation := patch.get("patch").get("operation")
	if patch.get("apply_to").text() == "ROUTE_CONFIGURATION" && operation.text() != "MERGE" {
		c.addOnce(
			operation,
			"Unsupported value: %q: Istio passes over it, so that the pin leaves the proxy; supported values: \"MERGE\"",
			operation.text(),
		)
	}
}

// anyContext is the context of patches that name none.
const anyContext = "ANY"

func contextOf(patch value) string {
	return cmp.Or(patch.get("match").get("context").text(), anyContext)
}

// checkWhere reports a pin of which all fences are for other proxies or ports.
func (c *checker) checkWhere(pin value, fences []value) {
	context, port := contextOf(pin), portOf(pin)
	var contexts []string
	var others []value // fences for other ports
	for _, fence := range fences {
		other := contextOf(fence)
		contexts = append(contexts, other)
		switch limit := portOf(fence); {
		case other != anyContext && other != context:
		case limit.missing() || limit.text() == port.text():
			return
		default:
			others = append(others, limit)
		}
	}
	switch {
	case len(others) > 0:
		c.add(
			others[0],
			"Invalid value: %s: stateful_session is for other ports too, and clients choose their host there",
			others[0].text(),
		)
	case len(fences) > 0:
		slices.Sort(contexts)
		c.add(
			pin.get("match").get("context"),
			"Invalid value: %q: the fence is for other proxies (%s): clients choose their host here, "+
				"and no session sticks there",
			context,
			strings.Join(slices.Compact(contexts), ", "),
		)
	}
}

func portOf(patch value) value { return patch.get("match").get("listener").get("port_number") }

// modes has, for each context of an EnvoyFilter, the traffic mode of a WasmPlugin.
var modes = map[string]string{"GATEWAY": "CLIENT", "SIDECAR_OUTBOUND": "CLIENT", "SIDECAR_INBOUND": "SERVER"}

// checkMode reports a plugin that is for other traffic than its pin.
func (c *checker) checkMode(spec value, context string) {
	matches := spec.get("match").items()
	isOthers := func(m value) bool {
		mode := cmp.Or(m.get("mode").text(), "UNDEFINED")
		return modes[context] != "" && mode != modes[context] && mode != "UNDEFINED" && mode != "CLIENT_AND_SERVER"
	}
	if len(matches) > 0 && !slices.ContainsFunc(matches, func(m value) bool { return !isOthers(m) }) {
		mode := matches[0].get("mode")
		c.addOnce(
			mode,
			"Invalid value: %q: stateful_session is for the context %s, whose traffic is called %s here",
			mode.text(),
			context,
			modes[context],
		)
	}
}
