package compiler

// sessionEffects are the effects of what is about session persistence, but for what HTTPRoute and GRPCRoute have had
// up to 1.6.
var sessionEffects = map[string]replacement{
	"HTTPRoute spec.rules[].sessionPersistence.idleTimeout":         {"idleTimeout: 15m", "idleTimeout: 16m"},
	"HTTPRoute spec.rules[].sessionPersistence.cookie.name":         {"name: new-cookie", "name: other-cookie"},
	"HTTPRoute spec.rules[].sessionPersistence.cookie.path":         {"path: /new-path", "path: /other-path"},
	"HTTPRoute spec.rules[].sessionPersistence.cookie.lifetimeType": {"lifetimeType: Permanent} # new", "lifetimeType: Session}"},
	"HTTPRoute spec.rules[].sessionPersistence.header.name":         {"name: x-new", "name: x-other"},

	"GRPCRoute spec.rules[].sessionPersistence.idleTimeout":         {"idleTimeout: 17m", "idleTimeout: 18m"},
	"GRPCRoute spec.rules[].sessionPersistence.cookie.name":         {"name: call-cookie", "name: other-cookie"},
	"GRPCRoute spec.rules[].sessionPersistence.cookie.path":         {"path: /call-path", "path: /other-path"},
	"GRPCRoute spec.rules[].sessionPersistence.cookie.lifetimeType": {"lifetimeType: Permanent} # call", "lifetimeType: Session}"},
	"GRPCRoute spec.rules[].sessionPersistence.header.name":         {"name: x-call-header", "name: x-other"},

	"XBackendTrafficPolicy spec.sessionPersistence.type":                      {"type: Header, header: {name: x-traffic}", "type: Cookie, header: {name: x-traffic}"},
	"XBackendTrafficPolicy spec.sessionPersistence.absoluteTimeout":           {"absoluteTimeout: 19m", "absoluteTimeout: 20m"},
	"XBackendTrafficPolicy spec.sessionPersistence.sessionName":               {"sessionName: traffic", "sessionName: other"},
	"XBackendTrafficPolicy spec.sessionPersistence.idleTimeout":               {"idleTimeout: 18m", "idleTimeout: 17m"},
	"XBackendTrafficPolicy spec.sessionPersistence.cookieConfig.lifetimeType": {"lifetimeType: Permanent} # traffic", "lifetimeType: Session}"},
	"XBackendTrafficPolicy spec.sessionPersistence.cookie.name":               {"name: traffic-cookie", "name: other-cookie"},
	"XBackendTrafficPolicy spec.sessionPersistence.cookie.path":               {"path: /traffic-path", "path: /other-path"},
	"XBackendTrafficPolicy spec.sessionPersistence.cookie.lifetimeType":       {"lifetimeType: Permanent}} # traffic17", "lifetimeType: Session}}"},
	"XBackendTrafficPolicy spec.sessionPersistence.header.name":               {"name: x-traffic", "name: x-other"},

	"XBackend spec.type":                                      {"type: EndpointSelector # xb", "type: ExternalHostname"},
	"XBackend spec.externalHostname.hostname":                 {"hostname: outside.example.com", "hostname: other.example.com"},
	"XBackend spec.port.number":                               {"number: 8088", "number: 8089"},
	"XBackend spec.endpointSelector.matchLabels":              {"matchLabels: {app: xb}", "matchLabels: {app: none}"},
	"XBackend spec.protocol":                                  {"protocol: HTTP # xb", "protocol: TCP"},
	"XBackend spec.tls.mode":                                  {"tls: {mode: None}", "tls: {mode: ServerOnly}"},
	"XBackend spec.tls.validation.hostname":                   {"hostname: xb-name.example.com", "hostname: other.example.com"},
	"XBackend spec.tls.validation.wellKnownCACertificates":    {"wellKnownCACertificates: System, subjectAltNames: [{type: Hostname, hostname: xb", "wellKnownCACertificates: example.com/Other, subjectAltNames: [{type: Hostname, hostname: xb"},
	"XBackend spec.tls.validation.subjectAltNames[].type":     {"{type: Hostname, hostname: xb-san.example.com}", "{type: URI, hostname: xb-san.example.com}"},
	"XBackend spec.tls.validation.subjectAltNames[].hostname": {"xb-san.example.com", "other-san.example.com"},
	"XBackend spec.tls.validation.subjectAltNames[].uri":      {"spiffe://example.com/xb", "spiffe://example.com/other"},
	"XBackend spec.tls.validation.caCertificateRefs[].group":  {`{group: "", kind: ConfigMap, name: xb-ca}`, `{group: example.com, kind: ConfigMap, name: xb-ca}`},
	"XBackend spec.tls.validation.caCertificateRefs[].kind":   {`{group: "", kind: ConfigMap, name: xb-ca}`, `{group: "", kind: Bucket, name: xb-ca}`},
	"XBackend spec.tls.validation.caCertificateRefs[].name":   {`{group: "", kind: ConfigMap, name: xb-ca}`, `{group: "", kind: ConfigMap, name: gone}`},
	"XBackend spec.sessionPersistence.type":                   {"type: Header, header: {name: x-backend}", "type: Cookie, header: {name: x-backend}"},
	"XBackend spec.sessionPersistence.absoluteTimeout":        {"absoluteTimeout: 21m", "absoluteTimeout: 22m"},
	"XBackend spec.sessionPersistence.cookie.name":            {"name: backend-cookie", "name: other-cookie"},
	"XBackend spec.sessionPersistence.cookie.path":            {"path: /backend-path", "path: /other-path"},
	"XBackend spec.sessionPersistence.cookie.lifetimeType":    {"lifetimeType: Permanent}} # xb", "lifetimeType: Session}}"},
	"XBackend spec.sessionPersistence.header.name":            {"name: x-backend", "name: x-other"},
}
