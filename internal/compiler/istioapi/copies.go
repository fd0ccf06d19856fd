package istioapi

import (
	"slices"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// leadHeader is the header by which limpet's copies of an HTTP route are matched.
var leadHeader = policyconfig.BackendHeader(policyconfig.DefaultPinHeader)

// DropCopies takes the copies of HTTP routes out of a VirtualService, and tells whether there were any.
func DropCopies(virtualService map[string]any) bool {
	spec, _ := virtualService["spec"].(map[string]any)
	routes, _ := spec["http"].([]any)
	kept := slices.DeleteFunc(slices.Clone(routes), isCopy)
	if len(kept) == len(routes) {
		return false
	}
	spec["http"] = kept
	return true
}

// isCopy tells whether each match of an HTTP route has the header.
func isCopy(route any) bool {
	fields, _ := route.(map[string]any)
	matches, _ := fields["match"].([]any)
	return len(matches) > 0 && !slices.ContainsFunc(matches, func(match any) bool {
		fields, _ := match.(map[string]any)
		headers, _ := fields["headers"].(map[string]any)
		return headers[leadHeader] == nil
	})
}
