package compiler

import (
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// probe asks for a feature: the documents on, in addition to those of testdata/capabilities.yaml, have it, and off is the same
// without. Features that options ask for have those instead.
type probe struct {
	off, on       string
	offKeys, keys policyconfig.Keys
	// telemetry are options of the second compilation: of the access log and of tickets.
	telemetry Options
}

// withoutOptions are the options of the first compilation.
func (p probe) withoutOptions() probe { return probe{keys: p.offKeys} }

// documentText puts the lines of a spec under a head.
func documentText(kind, name, spec string) string {
	version := map[string]string{
		"SessionPersistencePolicy": "limpet.dev/v1alpha1", "LoadBalancerPolicy": "limpet.dev/v1alpha1",
		"XBackendTrafficPolicy": "gateway.networking.x-k8s.io/v1alpha1", "HTTPProxy": "projectcontour.io/v1",
		"XBackend": "gateway.networking.x-k8s.io/v1alpha1", "HTTPRoute": "gateway.networking.k8s.io/v1",
		"GRPCRoute": "gateway.networking.k8s.io/v1",
	}[kind]
	return "---\napiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ") + "\n"
}

const onPages = "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: pages}]\n"

// policy is a probe of the fields of a SessionPersistencePolicy on one rule.
func policyProbe(off, on string) probe {
	return probe{off: documentText("SessionPersistencePolicy", "p", onPages+off), on: documentText("SessionPersistencePolicy", "p", onPages+on)}
}

// routeProbe is a probe of what stands inline in a rule.
func routeProbe(off, on string) probe {
	return probe{off: inlineRoute(off), on: inlineRoute(on)}
}

func inlineRoute(session string) string {
	if session != "" {
		session = "  sessionPersistence: " + session
	}
	return documentText("HTTPRoute", "inline", "parentRefs: [{name: gate}]\nhostnames: [inline.example.com]\nrules:\n- backendRefs: [{name: one, port: 80}]\n"+session)
}

// tryProbe is a probe of what a rule with sessions says of times and retries.
func tryProbe(off, on string) probe {
	return routeProbe("{sessionName: s}\n  "+off, "{sessionName: s}\n  "+on)
}

func balanceProbe(off, on string) probe {
	target := "targetRefs: [{group: \"\", kind: Service, name: one}]\n"
	return probe{off: documentText("LoadBalancerPolicy", "b", target+off), on: documentText("LoadBalancerPolicy", "b", target+on)}
}

func hashProbe(off, on string) probe {
	return balanceProbe("strategy: RequestHash\nrequestHashPolicies: ["+off+"]", "strategy: RequestHash\nrequestHashPolicies: ["+on+"]")
}

// targetProbe moves a policy from one target to another.
func targetProbe(kind, off, on string) probe {
	body := ""
	if kind == "LoadBalancerPolicy" {
		body = "\nstrategy: Random"
	}
	return probe{off: documentText(kind, "t", off+body), on: documentText(kind, "t", on+body)}
}

// strategyProbe has a policy on one rule, and one on its route with that line.
func strategyProbe(off, on string) probe {
	below := documentText("SessionPersistencePolicy", "p", onPages+"forward: false")
	above := func(line string) string {
		return documentText("SessionPersistencePolicy", "t", target1+"\nidleTimeout: 1h\n"+line)
	}
	return probe{off: below + above(off), on: below + above(on)}
}

// unsetProbe has a policy on a route, and one on its rule that takes a field away.
func unsetProbe(off, on string) probe {
	above := documentText("SessionPersistencePolicy", "t", target1+"\nidleTimeout: 1h")
	below := func(field string) string {
		return documentText("SessionPersistencePolicy", "p", onPages+"unset: ["+field+"]")
	}
	return probe{off: above + below(off), on: above + below(on)}
}

// telemetryProbe has a session, and then options.
func telemetryProbe(o Options) probe {
	p := documentText("SessionPersistencePolicy", "p", target1)
	return probe{off: p, on: p, telemetry: o}
}

func keysProbe(key policyconfig.Key) probe {
	return ringProbe(policyconfig.KeyRing{Keys: []policyconfig.Key{key}})
}

func ringProbe(ring policyconfig.KeyRing) probe {
	whole := policyconfig.Key{ID: "test", Secret: []byte(testSecret)}
	p := documentText("SessionPersistencePolicy", "p", target1)
	return probe{
		off: p, on: p, offKeys: policyconfig.Keys{Ring: &policyconfig.KeyRing{Keys: []policyconfig.Key{whole}}},
		keys: policyconfig.Keys{Ring: &ring},
	}
}

func splitRoute(session string) string {
	return documentText("HTTPRoute", "split", "parentRefs: [{name: gate}]\nhostnames: [split.example.com]\nrules:\n- name: split\n  backendRefs: [{name: one, port: 80}, {name: two, port: 80}]\n"+session)
}

// sharingRoute has a rule that leads to one of the backends of another.
var sharingRoute = splitRoute("- name: one\n  matches: [{path: {value: /one}}]\n  backendRefs: [{name: one, port: 80}]\n")

// identityProbe is of pods with names.
var identityProbe = probe{
	off: documentText("SessionPersistencePolicy", "p", target1+"\nidentity: Address"),
	on:  documentText("SessionPersistencePolicy", "p", target1+"\nidentity: Name"),
}

func lostHostPolicy(choice string) string {
	return documentText("SessionPersistencePolicy", "lost",
		"targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: split}]\nonHostLost: "+choice)
}

const (
	target1 = "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]"
	target2 = "targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gate}]"
	target3 = "targetRefs: [{group: \"\", kind: Service, name: one}]"
	target4 = "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: second}]"
)

// policyProbes are those of fields that stand in a SessionPersistencePolicy and in the plugin configuration alike.
var policyProbes = map[string]probe{
	"type":                    policyProbe("sessionName: x-a", "sessionName: x-a\ntype: Header"),
	"sessionName":             policyProbe("sessionName: a", "sessionName: b"),
	"absoluteTimeout":         policyProbe("idleTimeout: 5m", "idleTimeout: 5m\nabsoluteTimeout: 8h"),
	"idleTimeout":             policyProbe("idleTimeout: 5m", "idleTimeout: 6m"),
	"renewAfterPercent":       policyProbe("idleTimeout: 5m", "idleTimeout: 5m\nrenewAfterPercent: 50"),
	"onHostLost":              policyProbe("forward: true", "forward: true\nonHostLost: Fail"),
	"failStatus":              policyProbe("onHostLost: Fail", "onHostLost: Fail\nfailStatus: 410"),
	"endSessionHeader":        policyProbe("forward: true", "endSessionHeader: x-logout"),
	"issueOn":                 policyProbe("issueOn: Any", "issueOn: TLS"),
	"envelope":                policyProbe("sessionName: a", "sessionName: a\nenvelope: true"),
	"cookie.crossSite":        policyProbe("cookie: {secure: true}", "cookie: {crossSite: true}"),
	"revealHost":              policyProbe("revealHost: false", "revealHost: true"),
	"forward":                 policyProbe("forward: true", "forward: false"),
	"cache.control":           policyProbe("cache: {control: Keep}", "cache: {control: NoStore}"),
	"cache.skipCacheable":     policyProbe("cache: {skipCacheable: false}", "cache: {skipCacheable: true}"),
	"cache.unsafeMethodsOnly": policyProbe("cache: {unsafeMethodsOnly: false}", "cache: {unsafeMethodsOnly: true}"),
	"revocation.epoch":        policyProbe("revocation: {epoch: 1}", "revocation: {epoch: 2}"),
	"revocation.notBefore":    policyProbe("revocation: {epoch: 1}", "revocation: {epoch: 1, notBefore: \"2026-01-01T00:00:00Z\"}"),
	"revocation.sessions[]":   policyProbe("revocation: {epoch: 1}", `revocation: {epoch: 1, sessions: ["0102030405060708"]}`),
	"revocation.hosts[]":      policyProbe("revocation: {epoch: 1}", `revocation: {epoch: 1, hosts: ["10.0.0.1:80 before 2026-01-01T00:00:00Z"]}`),
	"cookie.path":             policyProbe("cookie: {path: /}", "cookie: {path: /x}"),
	"cookie.domain":           policyProbe("cookie: {path: /}", "cookie: {path: /, domain: example.com}"),
	"cookie.lifetimeType":     policyProbe("absoluteTimeout: 8h", "absoluteTimeout: 8h\ncookie: {lifetimeType: Permanent}"),
	"cookie.secure":           policyProbe("cookie: {secure: true}", "cookie: {secure: false}"),
	"cookie.httpOnly":         policyProbe("cookie: {httpOnly: true}", "cookie: {httpOnly: false}"),
	"cookie.sameSite":         policyProbe("cookie: {sameSite: Strict}", "cookie: {sameSite: Lax}"),
	"cookie.partitioned":      policyProbe("cookie: {secure: true}", "cookie: {partitioned: true}"),
	"cookie.attributes[]":     policyProbe("cookie: {secure: true}", "cookie: {attributes: [Priority=High]}"),
}

// otherProbes are the rest.
var otherProbes = map[string]probe{
	"plugin keys.fromEnv":               {off: documentText("SessionPersistencePolicy", "p", target1), on: documentText("SessionPersistencePolicy", "p", target1), offKeys: policyconfig.Keys{FromEnv: "LIMPET_KEYS"}, keys: policyconfig.Keys{FromEnv: "OTHER_KEYS"}},
	"plugin accessLogFields":            telemetryProbe(Options{AccessLog: true}),
	"plugin sessionDigest":              telemetryProbe(Options{AccessLog: true, SessionDigest: true}),
	"plugin debugTickets":               telemetryProbe(Options{DebugTickets: true}),
	"plugin keys.ring.keys[].id":        keysProbe(policyconfig.Key{ID: "other", Secret: []byte(testSecret)}),
	"plugin keys.ring.keys[].secret":    keysProbe(policyconfig.Key{ID: "test", Secret: []byte(testSecret + "x")}),
	"plugin keys.ring.keys[].notBefore": keysProbe(policyconfig.Key{ID: "test", Secret: []byte(testSecret), NotBefore: 1893456000}),
	"plugin keys.ring.keys[].notAfter":  keysProbe(policyconfig.Key{ID: "test", Secret: []byte(testSecret), NotAfter: 1893456000}),
	"plugin keys.ring.notAfter":         ringProbe(policyconfig.KeyRing{Keys: []policyconfig.Key{{ID: "test", Secret: []byte(testSecret)}}, NotAfter: 1893456000}),
	"plugin keys.sealed":                {off: documentText("SessionPersistencePolicy", "p", target1), on: documentText("SessionPersistencePolicy", "p", target1), keys: policyconfig.Keys{Sealed: "1." + strings.Repeat("A", 120)}},
	"plugin policies[].name":            targetProbe("SessionPersistencePolicy", target1, target4),
	"plugin policies[].scope":           targetProbe("SessionPersistencePolicy", target1, target4),
	"plugin policies[].routes[]":        targetProbe("SessionPersistencePolicy", target1, target4),
	"plugin policies[].clusters[]":      {off: splitRoute(""), on: splitRoute("  sessionPersistence: {cookie: {name: s}}")},

	"across a cookie path for each match of a rule": {off: matchesRoute(""), on: matchesRoute("  sessionPersistence: {sessionName: s}")},

	"across a session header on a rule with CORS": routeProbe(
		"{sessionName: x-s, type: Header}", "{sessionName: x-s, type: Header}\n  filters: [{type: CORS, cors: {allowOrigins: [\"*\"]}}]"),

	"across split, one session (up to 1.6)": {off: splitRoute(""), on: splitRoute("  sessionPersistence: {sessionName: s}")},
	"plugin policies[].revocation.backends[]": {
		off: splitRoute("  sessionPersistence: {sessionName: s}"),
		on: splitRoute("  sessionPersistence: {sessionName: s}") + documentText("SessionPersistencePolicy", "revoking",
			"targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: split}]\n"+
				`revocation: {backends: ["default/two:80 before 2026-01-01T00:00:00Z"]}`),
	},
	"plugin policies[].leads[]":         {off: splitRoute(""), on: splitRoute("  sessionPersistence: {sessionName: s}")},
	"plugin policies[].owners[]":        identityProbe,
	"SessionPersistencePolicy identity": identityProbe,
	"across onHostLost RebalanceWithin in a split": {
		off: splitRoute("  sessionPersistence: {sessionName: s}") + lostHostPolicy("Rebalance"),
		on:  splitRoute("  sessionPersistence: {sessionName: s}") + lostHostPolicy("RebalanceWithin"),
	},
	"across scope Route of a rule with one backend and a split": {
		off: sharingRoute + lostHostPolicy("Rebalance\nscope: Rule"), on: sharingRoute + lostHostPolicy("Rebalance\nscope: Route"),
	},
	"across split, a session for each backend": {off: splitRoute(""), on: splitRoute("  sessionPersistence: {cookie: {name: s}}")},

	"SessionPersistencePolicy override":                 policyProbe("forward: true", "forward: true\noverride: {forward: false}"),
	"SessionPersistencePolicy default":                  policyProbe("forward: true", "forward: true\ndefault: {idleTimeout: 1h}"),
	"SessionPersistencePolicy strategy":                 strategyProbe("strategy: PatchDefaults", "strategy: AtomicOverrides"),
	"SessionPersistencePolicy unset[]":                  unsetProbe("failStatus", "idleTimeout"),
	"SessionPersistencePolicy targetRef":                {off: "", on: documentText("SessionPersistencePolicy", "p", "targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}")},
	"SessionPersistencePolicy className":                policyProbe("className: other", "className: tested"),
	"SessionPersistencePolicy scope":                    {off: documentText("SessionPersistencePolicy", "p", target1+"\nscope: Rule"), on: documentText("SessionPersistencePolicy", "p", target1+"\nscope: Route")},
	"SessionPersistencePolicy targetRefs[].namespace":   targetProbe("SessionPersistencePolicy", strings.Replace(target1, "name: ", "namespace: other, name: ", 1), strings.Replace(target1, "name: ", "namespace: default, name: ", 1)),
	"SessionPersistencePolicy targetRefs[].group":       targetProbe("SessionPersistencePolicy", target1, target3),
	"SessionPersistencePolicy targetRefs[].kind":        targetProbe("SessionPersistencePolicy", target1, target2),
	"SessionPersistencePolicy targetRefs[].name":        targetProbe("SessionPersistencePolicy", target1, target4),
	"SessionPersistencePolicy targetRefs[].sectionName": targetProbe("SessionPersistencePolicy", target1, strings.TrimSpace(onPages)),
	"SessionPersistencePolicy disabled":                 policyProbe("disabled: false", "disabled: true"),
	"SessionPersistencePolicy header.name":              policyProbe("type: Header\nheader: {name: x-a}", "type: Header\nheader: {name: x-b}"),
	"SessionPersistencePolicy absoluteTimeoutSeconds":   policyProbe("absoluteTimeoutSeconds: 60", "absoluteTimeoutSeconds: 61"),
	"SessionPersistencePolicy idleTimeoutSeconds":       policyProbe("idleTimeoutSeconds: 60", "idleTimeoutSeconds: 61"),
	"SessionPersistencePolicy revocation.backends[]":    policyProbe("revocation: {epoch: 1}", `revocation: {epoch: 1, backends: ["default/one:80 before 2026-01-01T00:00:00Z"]}`),
	"SessionPersistencePolicy keepUnselected":           policyProbe("forward: true", "forward: true\nkeepUnselected: 5m"),
	"SessionPersistencePolicy drainTimeout":             policyProbe("forward: true", "forward: true\ndrainTimeout: 5m"),

	"HTTPRoute sessionPersistence.type":                      routeProbe("{sessionName: x-s}", "{sessionName: x-s, type: Header}"),
	"HTTPRoute sessionPersistence.sessionName":               routeProbe("{sessionName: s}", "{sessionName: t}"),
	"HTTPRoute sessionPersistence.absoluteTimeout":           routeProbe("{sessionName: s}", "{sessionName: s, absoluteTimeout: 8h}"),
	"HTTPRoute sessionPersistence.idleTimeout":               routeProbe("{sessionName: s}", "{sessionName: s, idleTimeout: 8m}"),
	"HTTPRoute sessionPersistence.cookieConfig.lifetimeType": routeProbe("{sessionName: s, absoluteTimeout: 8h}", "{sessionName: s, absoluteTimeout: 8h, cookieConfig: {lifetimeType: Permanent}}"),
	"HTTPRoute sessionPersistence.cookie.name":               routeProbe("{cookie: {name: s}}", "{cookie: {name: t}}"),
	"HTTPRoute sessionPersistence.cookie.path":               routeProbe("{cookie: {name: s}}", "{cookie: {name: s, path: /x}}"),
	"HTTPRoute sessionPersistence.cookie.lifetimeType":       routeProbe("{cookie: {name: s}, absoluteTimeout: 8h}", "{cookie: {name: s, lifetimeType: Permanent}, absoluteTimeout: 8h}"),
	"HTTPRoute sessionPersistence.header.name":               routeProbe("{type: Header, header: {name: x-s}}", "{type: Header, header: {name: x-t}}"),
	"HTTPRoute timeouts.request":                             tryProbe("", "timeouts: {request: 10s}"),
	"HTTPRoute timeouts.backendRequest":                      tryProbe("timeouts: {request: 10s}", "timeouts: {request: 10s, backendRequest: 2s}"),
	"HTTPRoute retry.codes[]":                                tryProbe("retry: {attempts: 2}", "retry: {attempts: 2, codes: [503]}"),
	"HTTPRoute retry.attempts":                               tryProbe("retry: {codes: [503]}", "retry: {codes: [503], attempts: 2}"),
	"HTTPRoute retry.backoff":                                tryProbe("retry: {attempts: 2}", "retry: {attempts: 2, backoff: 1s}"),
	"GRPCRoute sessionPersistence":                           {off: grpcRoute(""), on: grpcRoute("  sessionPersistence: {sessionName: s}")},
	"XBackendTrafficPolicy sessionPersistence":               {off: documentText("XBackendTrafficPolicy", "x", target3), on: documentText("XBackendTrafficPolicy", "x", target3+"\nsessionPersistence: {sessionName: s}")},
	"XBackendTrafficPolicy retryConstraint":                  {off: documentText("XBackendTrafficPolicy", "x", target3), on: documentText("XBackendTrafficPolicy", "x", target3+"\nretryConstraint: {budget: {percent: 30, interval: 30s}}")},
	"across XBackend":                                        {off: "", on: documentText("XBackend", "xb", "type: EndpointSelector\nport: {number: 8080}\nprotocol: HTTP\nendpointSelector: {matchLabels: {app: one}}\nsessionPersistence: {cookie: {name: xb}}") + documentText("HTTPRoute", "xb", "parentRefs: [{name: gate}]\nhostnames: [xb.example.com]\nrules:\n- backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: xb}]")},
	"across HTTPProxy":                                       {off: "", on: documentText("HTTPProxy", "proxy", "virtualhost: {fqdn: proxy.example.com}\nroutes: [{services: [{name: one, port: 80}]}]")},

	"LoadBalancerPolicy healthCheck.type":                                                balanceProbe("healthCheck: {type: TCP}", "healthCheck: {type: HTTP}"),
	"LoadBalancerPolicy healthCheck.interval":                                            balanceProbe("healthCheck: {}", "healthCheck: {interval: 7s}"),
	"LoadBalancerPolicy healthCheck.timeout":                                             balanceProbe("healthCheck: {}", "healthCheck: {timeout: 7s}"),
	"LoadBalancerPolicy healthCheck.unhealthyThreshold":                                  balanceProbe("healthCheck: {}", "healthCheck: {unhealthyThreshold: 7}"),
	"LoadBalancerPolicy healthCheck.healthyThreshold":                                    balanceProbe("healthCheck: {}", "healthCheck: {healthyThreshold: 7}"),
	"LoadBalancerPolicy healthCheck.http.path":                                           balanceProbe("healthCheck: {}", "healthCheck: {http: {path: /ready}}"),
	"LoadBalancerPolicy healthCheck.http.hostname":                                       balanceProbe("healthCheck: {}", "healthCheck: {http: {hostname: a.example.com}}"),
	"LoadBalancerPolicy healthCheck.http.expectedStatuses[]":                             balanceProbe("healthCheck: {}", "healthCheck: {http: {expectedStatuses: [204]}}"),
	"LoadBalancerPolicy healthCheck.grpc.service":                                        grpcCheckProbe("{type: GRPC}", "{type: GRPC, grpc: {service: s}}"),
	"LoadBalancerPolicy outlierDetection.consecutive5xxErrors":                           balanceProbe("outlierDetection: {}", "outlierDetection: {consecutive5xxErrors: 7}"),
	"LoadBalancerPolicy outlierDetection.consecutiveGatewayErrors":                       balanceProbe("outlierDetection: {}", "outlierDetection: {consecutiveGatewayErrors: 7}"),
	"LoadBalancerPolicy outlierDetection.interval":                                       balanceProbe("outlierDetection: {}", "outlierDetection: {interval: 7s}"),
	"LoadBalancerPolicy outlierDetection.baseEjectionTime":                               balanceProbe("outlierDetection: {}", "outlierDetection: {baseEjectionTime: 7s}"),
	"LoadBalancerPolicy outlierDetection.maxEjectionPercent":                             balanceProbe("outlierDetection: {}", "outlierDetection: {maxEjectionPercent: 7}"),
	"LoadBalancerPolicy slowStart.window":                                                balanceProbe("slowStart: {window: 6s}", "slowStart: {window: 7s}"),
	"LoadBalancerPolicy slowStart.minWeightPercent":                                      balanceProbe("slowStart: {window: 6s}", "slowStart: {window: 6s, minWeightPercent: 7}"),
	"LoadBalancerPolicy strategy":                                                        balanceProbe("strategy: RoundRobin", "strategy: Random"),
	"LoadBalancerPolicy targetRefs[].group":                                              targetProbe("LoadBalancerPolicy", target4, target3),
	"LoadBalancerPolicy targetRefs[].kind":                                               targetProbe("LoadBalancerPolicy", target4, target3),
	"LoadBalancerPolicy targetRefs[].name":                                               targetProbe("LoadBalancerPolicy", target1, target4),
	"LoadBalancerPolicy targetRefs[].namespace":                                          targetProbe("LoadBalancerPolicy", strings.Replace(target1, "name: ", "namespace: other, name: ", 1), strings.Replace(target1, "name: ", "namespace: default, name: ", 1)),
	"LoadBalancerPolicy targetRefs[].sectionName":                                        targetProbe("LoadBalancerPolicy", target1, strings.TrimSpace(onPages)),
	"LoadBalancerPolicy requestHashPolicies[].terminal":                                  hashProbe("{hashSourceIP: true}", "{hashSourceIP: true, terminal: true}"),
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.headerName":              hashProbe("{headerHashOptions: {headerName: X-A}}", "{headerHashOptions: {headerName: X-B}}"),
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.valueRewriteRegex":       hashProbe("{headerHashOptions: {headerName: X-A}}", "{headerHashOptions: {headerName: X-A, valueRewriteRegex: a}}"),
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.valueRewriteReplacement": hashProbe("{headerHashOptions: {headerName: X-A, valueRewriteRegex: a}}", "{headerHashOptions: {headerName: X-A, valueRewriteRegex: a, valueRewriteReplacement: b}}"),
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.cookieName":              hashProbe("{cookieHashOptions: {cookieName: a}}", "{cookieHashOptions: {cookieName: b}}"),
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.ttl":                     hashProbe("{cookieHashOptions: {cookieName: a}}", "{cookieHashOptions: {cookieName: a, ttl: 1h}}"),
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.path":                    hashProbe("{cookieHashOptions: {cookieName: a, ttl: 1h}}", "{cookieHashOptions: {cookieName: a, ttl: 1h, path: /x}}"),
	"LoadBalancerPolicy requestHashPolicies[].queryParameterHashOptions.parameterName":   hashProbe("{queryParameterHashOptions: {parameterName: a}}", "{queryParameterHashOptions: {parameterName: b}}"),
	"LoadBalancerPolicy requestHashPolicies[].hashSourceIP":                              hashProbe("{headerHashOptions: {headerName: X-A}}", "{hashSourceIP: true}"),
	"LoadBalancerPolicy limits.maxConnections":                                           balanceProbe("strategy: RoundRobin", "limits: {maxConnections: 7}"),
}

// grpcCheckProbe is of a GRPCRoute, whose backends speak HTTP/2.
func grpcCheckProbe(off, on string) probe {
	p := balanceProbe("healthCheck: "+off, "healthCheck: "+on)
	p.off, p.on = grpcRoute("")+p.off, grpcRoute("")+p.on
	return p
}

func matchesRoute(session string) string {
	return documentText("HTTPRoute", "matches", "parentRefs: [{name: gate}]\nhostnames: [matches.example.com]\nrules:\n- matches: [{path: {value: /a/x}}, {path: {value: /a/y}}]\n  backendRefs: [{name: one, port: 80}]\n"+session)
}

func grpcRoute(session string) string {
	return documentText("GRPCRoute", "calls", "parentRefs: [{name: gate}]\nhostnames: [calls.example.com]\nrules:\n- backendRefs: [{name: one, port: 80}]\n"+session)
}

// probeFor gives the probe of a feature; false if there is none.
func probeFor(feature string) (probe, bool) {
	for _, prefix := range []string{"plugin policies[].", "SessionPersistencePolicy "} {
		if p, ok := policyProbes[strings.TrimPrefix(feature, prefix)]; ok && strings.HasPrefix(feature, prefix) {
			return p, true
		}
	}
	p, ok := otherProbes[feature]
	return p, ok
}
