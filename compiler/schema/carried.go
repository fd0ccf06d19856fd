package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/read"
	"github.com/limpet-proxy/limpet/compiler/report"
)

// Treatment says what the compiler does with a field that a document sets.
type Treatment struct {
	// Ignored is the reason why the field may have no effect; empty for a field that has one.
	Ignored string
	// Only lists the values that are carried; any other is refused. Nil: every value that is admitted.
	Only []any
}

var carried = Treatment{}

func only(values ...any) Treatment         { return Treatment{Only: values} }
func ignored(why string) Treatment         { return Treatment{Ignored: why} }
func (t Treatment) carries(value any) bool { return t.Only == nil || slices.Contains(t.Only, value) }

// Carried is every field that may be set, by kind and path; [] stands for any index. A field that is not here, nor
// below one that is, is refused as "not supported yet". Tests hold the list to the Go types, and show for each
// field that is not ignored that it has an effect.
var Carried = withSessions(map[string]map[string]Treatment{
	"GatewayClass": {
		"spec.controllerName": ignored("says who runs the class in a cluster; the user of a compiler says it by running it"),
		"spec.description":    ignored("is for people"),
	},
	"Gateway": {
		"spec.gatewayClassName":                            carried,
		"spec.addresses[].type":                            only("IPAddress"),
		"spec.addresses[].value":                           carried,
		"spec.allowedListeners.namespaces.from":            only("None"), // ListenerSets
		"spec.listeners[].name":                            carried,
		"spec.listeners[].hostname":                        carried,
		"spec.listeners[].port":                            carried,
		"spec.listeners[].protocol":                        only("HTTP", "HTTPS"),
		"spec.listeners[].tls.mode":                        only("Terminate"),
		"spec.listeners[].tls.certificateRefs[].group":     carried,
		"spec.listeners[].tls.certificateRefs[].kind":      carried,
		"spec.listeners[].tls.certificateRefs[].namespace": carried,
		"spec.listeners[].tls.certificateRefs[].name":      carried,
		"spec.listeners[].allowedRoutes.namespaces.from":   only("All", "Same"),
		"spec.listeners[].allowedRoutes.kinds[].group":     carried,
		"spec.listeners[].allowedRoutes.kinds[].kind":      carried,
	},
	"HTTPRoute": {
		"spec.parentRefs[].group":                    only("gateway.networking.k8s.io"),
		"spec.parentRefs[].kind":                     only("Gateway"),
		"spec.parentRefs[].namespace":                carried,
		"spec.parentRefs[].name":                     carried,
		"spec.parentRefs[].sectionName":              carried,
		"spec.parentRefs[].port":                     carried,
		"spec.useDefaultGateways":                    only("None"),
		"spec.hostnames[]":                           carried,
		"spec.rules[].name":                          carried,
		"spec.rules[].matches[].path.type":           only("Exact", "PathPrefix"),
		"spec.rules[].matches[].path.value":          carried,
		"spec.rules[].matches[].headers[].type":      only("Exact"),
		"spec.rules[].matches[].headers[].name":      carried,
		"spec.rules[].matches[].headers[].value":     carried,
		"spec.rules[].matches[].queryParams[].type":  only("Exact"),
		"spec.rules[].matches[].queryParams[].name":  carried,
		"spec.rules[].matches[].queryParams[].value": carried,
		"spec.rules[].matches[].method":              only("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"),
		"spec.rules[].backendRefs[].group":           carried,
		"spec.rules[].backendRefs[].kind":            carried,
		"spec.rules[].backendRefs[].namespace":       carried,
		"spec.rules[].backendRefs[].name":            carried,
		"spec.rules[].backendRefs[].port":            carried,
		"spec.rules[].backendRefs[].weight":          carried,
	},
	"GRPCRoute": {
		"spec.parentRefs[].group":                                   only("gateway.networking.k8s.io"),
		"spec.parentRefs[].kind":                                    only("Gateway"),
		"spec.parentRefs[].namespace":                               carried,
		"spec.parentRefs[].name":                                    carried,
		"spec.parentRefs[].sectionName":                             carried,
		"spec.parentRefs[].port":                                    carried,
		"spec.useDefaultGateways":                                   only("None"),
		"spec.hostnames[]":                                          carried,
		"spec.rules[].name":                                         carried,
		"spec.rules[].matches[].method.type":                        only("Exact"),
		"spec.rules[].matches[].method.service":                     carried,
		"spec.rules[].matches[].method.method":                      carried,
		"spec.rules[].matches[].headers[].type":                     only("Exact"),
		"spec.rules[].matches[].headers[].name":                     carried,
		"spec.rules[].matches[].headers[].value":                    carried,
		"spec.rules[].backendRefs[].group":                          carried,
		"spec.rules[].backendRefs[].kind":                           carried,
		"spec.rules[].backendRefs[].namespace":                      carried,
		"spec.rules[].backendRefs[].name":                           carried,
		"spec.rules[].backendRefs[].port":                           carried,
		"spec.rules[].backendRefs[].weight":                         carried,
		"spec.rules[].sessionPersistence.sessionName":               carried,
		"spec.rules[].sessionPersistence.absoluteTimeout":           carried,
		"spec.rules[].sessionPersistence.type":                      carried,
		"spec.rules[].sessionPersistence.cookieConfig.lifetimeType": carried,
	},
	"ReferenceGrant": {
		"spec.from[].group":     carried,
		"spec.from[].kind":      carried,
		"spec.from[].namespace": carried,
		"spec.to[].group":       carried,
		"spec.to[].kind":        carried,
		"spec.to[].name":        carried,
	},
	"Secret": {
		"type":       carried,
		"data":       carried,
		"stringData": carried,
		"immutable":  ignored("is for the API server"),
	},
	"Service": {
		"spec.type":                          only("ClusterIP", "NodePort", "LoadBalancer"),
		"spec.sessionAffinity":               carried,
		"spec.sessionAffinityConfig":         ignored(pastService),
		"spec.internalTrafficPolicy":         only("Cluster"),
		"spec.ports[].name":                  carried,
		"spec.ports[].port":                  carried,
		"spec.ports[].protocol":              carried,
		"spec.ports[].appProtocol":           carried,
		"spec.ports[].targetPort":            ignored("the EndpointSlices' ports are the ones that it leads to"),
		"spec.ports[].nodePort":              ignored(pastService),
		"spec.selector":                      ignored("the EndpointSlices hold what it selects"),
		"spec.publishNotReadyAddresses":      ignored("the EndpointSlices' conditions follow it"),
		"spec.clusterIP":                     ignored(pastService),
		"spec.clusterIPs":                    ignored(pastService),
		"spec.externalIPs":                   ignored(pastService),
		"spec.externalTrafficPolicy":         ignored(pastService),
		"spec.healthCheckNodePort":           ignored(pastService),
		"spec.allocateLoadBalancerNodePorts": ignored(pastService),
		"spec.loadBalancerClass":             ignored(pastService),
		"spec.loadBalancerIP":                ignored(pastService),
		"spec.loadBalancerSourceRanges":      ignored(pastService),
		"spec.ipFamilies":                    carried,
		"spec.ipFamilyPolicy":                ignored("the EndpointSlices hold the families that it leads to"),
	},
	"EndpointSlice": {
		"addressType":                        only("IPv4", "IPv6"),
		"ports[].name":                       carried,
		"ports[].port":                       carried,
		"ports[].protocol":                   carried,
		"ports[].appProtocol":                ignored("repeats the Service's, which is the one that is read"),
		"endpoints[].addresses[]":            carried,
		"endpoints[].conditions.ready":       carried,
		"endpoints[].conditions.serving":     carried,
		"endpoints[].conditions.terminating": carried,
		"endpoints[].deprecatedTopology":     ignored("is a copy of what other fields say"),
		"endpoints[].hints":                  ignored("is advice to kube-proxy; zones are not preferred"),
		"endpoints[].hostname":               ignored("is for DNS"),
		"endpoints[].nodeName":               ignored("says where the endpoint runs, which changes nothing"),
		"endpoints[].targetRef":              ignored("says what the endpoint is, which changes nothing"),
		"endpoints[].zone":                   ignored("says where the endpoint runs; zones are not preferred"),
	},
})

const pastService = "concerns the ways through the Service's own addresses; Envoy goes to the endpoints"

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
	w := walker{table: Carried[kind]}
	w.mapping("", "", fields)
	return w.found
}

type walker struct {
	table map[string]Treatment
	found []setField
}

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
		if w.leads(pattern + ".") {
			w.mapping(path, pattern, v)
			return
		}
	case []any:
		if w.leads(pattern + "[]") {
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

// leads reports whether a path of the table begins so.
func (w *walker) leads(prefix string) bool {
	for path := range w.table {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
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
