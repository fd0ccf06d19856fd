package compiler

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// replacement is a change of testdata/effects.yaml: the first occurrence of old becomes new.
type replacement struct{ old, new string }

// fieldEffects shows, for each field that the compiler carries, a change that makes a difference.
var fieldEffects = map[string]replacement{
	"Gateway spec.gatewayClassName":                            {"gatewayClassName: limpet", "gatewayClassName: other"},
	"Gateway spec.addresses[].type":                            {"type: IPAddress", "type: Hostname"},
	"Gateway spec.addresses[].value":                           {"value: 127.0.0.9", "value: 127.0.0.8"},
	"Gateway spec.listeners[].name":                            {"name: main", "name: another"},
	"Gateway spec.listeners[].hostname":                        {`hostname: "*.example.com"`, `hostname: "*.example.org"`},
	"Gateway spec.listeners[].port":                            {"port: 8000", "port: 8001"},
	"Gateway spec.listeners[].protocol":                        {"protocol: HTTP", "protocol: HTTPS"},
	"Gateway spec.listeners[].tls.mode":                        {"mode: Terminate", "mode: Passthrough"},
	"Gateway spec.listeners[].tls.certificateRefs[].group":     {`group: "", kind: Secret, namespace: keys`, "group: example.com, kind: Secret, namespace: keys"},
	"Gateway spec.listeners[].tls.certificateRefs[].kind":      {"kind: Secret, namespace: keys", "kind: ConfigMap, namespace: keys"},
	"Gateway spec.listeners[].tls.certificateRefs[].namespace": {"namespace: keys, name: shop}, {", "namespace: infra, name: shop}, {"},
	"Gateway spec.listeners[].tls.certificateRefs[].name":      {"name: shop}, {", "name: wild}, {"},
	"Gateway spec.listeners[].allowedRoutes.namespaces.from":   {"from: All", "from: Same"},
	"Gateway spec.listeners[].allowedRoutes.kinds[].group":     {"group: gateway.networking.k8s.io, kind: HTTPRoute", "group: example.com, kind: HTTPRoute"},
	"Gateway spec.listeners[].allowedRoutes.kinds[].kind":      {"kind: HTTPRoute},", "kind: TCPRoute},"},

	"GatewayClass spec.controllerName":                                            {"controllerName: limpet.dev/gateway-controller", "controllerName: example.com/other"},
	"Gateway spec.listeners[].allowedRoutes.namespaces.selector.matchLabels":      {"matchLabels: {team: shop}", "matchLabels: {team: other}"},
	"Gateway spec.listeners[].allowedRoutes.namespaces.selector.matchExpressions": {"{key: team, operator: Exists}", "{key: stage, operator: Exists}"},

	"HTTPRoute spec.rules[].filters[].type":                                             {"- type: URLRewrite\n      urlRewrite: {hostname", "- type: ExtensionRef\n      urlRewrite: {hostname"},
	"HTTPRoute spec.rules[].filters[].requestHeaderModifier.set[].name":                 {"x-qs", "x-other"},
	"HTTPRoute spec.rules[].filters[].requestHeaderModifier.set[].value":                {"qs-value", "other-value"},
	"HTTPRoute spec.rules[].filters[].requestHeaderModifier.add[].name":                 {"x-qa", "x-other"},
	"HTTPRoute spec.rules[].filters[].requestHeaderModifier.add[].value":                {"qa-value", "other-value"},
	"HTTPRoute spec.rules[].filters[].requestHeaderModifier.remove[]":                   {"x-qr", "x-other"},
	"HTTPRoute spec.rules[].filters[].responseHeaderModifier.set[].name":                {"x-rs", "x-other"},
	"HTTPRoute spec.rules[].filters[].responseHeaderModifier.set[].value":               {"rs-value", "other-value"},
	"HTTPRoute spec.rules[].filters[].responseHeaderModifier.add[].name":                {"x-ra", "x-other"},
	"HTTPRoute spec.rules[].filters[].responseHeaderModifier.add[].value":               {"ra-value", "other-value"},
	"HTTPRoute spec.rules[].filters[].responseHeaderModifier.remove[]":                  {"x-rr", "x-other"},
	"HTTPRoute spec.rules[].filters[].requestRedirect.scheme":                           {"scheme: https", "scheme: http"},
	"HTTPRoute spec.rules[].filters[].requestRedirect.hostname":                         {"new.example.com", "other.example.com"},
	"HTTPRoute spec.rules[].filters[].requestRedirect.port":                             {"port: 8444", "port: 8445"},
	"HTTPRoute spec.rules[].filters[].requestRedirect.statusCode":                       {"statusCode: 301", "statusCode: 308"},
	"HTTPRoute spec.rules[].filters[].requestRedirect.path.type":                        {"path: {type: ReplacePrefixMatch, replacePrefixMatch: /redirected}", "path: {type: ReplaceFullPath, replaceFullPath: /redirected}"},
	"HTTPRoute spec.rules[].filters[].requestRedirect.path.replacePrefixMatch":          {"/redirected}", "/other}"},
	"HTTPRoute spec.rules[].filters[].requestRedirect.path.replaceFullPath":             {"/redirected-whole", "/other-whole"},
	"HTTPRoute spec.rules[].filters[].urlRewrite.hostname":                              {"inner.example.com", "other.example.com"},
	"HTTPRoute spec.rules[].filters[].urlRewrite.path.type":                             {"path: {type: ReplaceFullPath, replaceFullPath: /rewritten}", "path: {type: ReplacePrefixMatch, replacePrefixMatch: /rewritten}"},
	"HTTPRoute spec.rules[].filters[].urlRewrite.path.replaceFullPath":                  {"/rewritten}", "/other}"},
	"HTTPRoute spec.rules[].filters[].urlRewrite.path.replacePrefixMatch":               {"/rewritten-prefix", "/other-prefix"},
	"HTTPRoute spec.rules[].filters[].requestMirror.percent":                            {"percent: 42", "percent: 43"},
	"HTTPRoute spec.rules[].filters[].requestMirror.fraction.numerator":                 {"numerator: 3", "numerator: 4"},
	"HTTPRoute spec.rules[].filters[].requestMirror.fraction.denominator":               {"denominator: 7", "denominator: 8"},
	"HTTPRoute spec.rules[].filters[].requestMirror.backendRef.group":                   {"backendRef: {group: \"\"", "backendRef: {group: example.com"},
	"HTTPRoute spec.rules[].filters[].requestMirror.backendRef.kind":                    {"group: \"\", kind: Service, namespace: shop, name: six", "group: \"\", kind: Bucket, namespace: shop, name: six"},
	"HTTPRoute spec.rules[].filters[].requestMirror.backendRef.namespace":               {"namespace: shop, name: six", "namespace: other, name: six"},
	"HTTPRoute spec.rules[].filters[].requestMirror.backendRef.name":                    {"namespace: shop, name: six", "namespace: shop, name: gone"},
	"HTTPRoute spec.rules[].filters[].requestMirror.backendRef.port":                    {"name: six, port: 80}}", "name: six, port: 81}}"},
	"HTTPRoute spec.rules[].filters[].cors.allowOrigins[]":                              {"https://page.example.com", "https://other.example.com"},
	"HTTPRoute spec.rules[].filters[].cors.allowCredentials":                            {"allowCredentials: true", "allowCredentials: false"},
	"HTTPRoute spec.rules[].filters[].cors.allowMethods[]":                              {"allowMethods: [GET]", "allowMethods: [PUT]"},
	"HTTPRoute spec.rules[].filters[].cors.allowHeaders[]":                              {"x-ch", "x-other"},
	"HTTPRoute spec.rules[].filters[].cors.exposeHeaders[]":                             {"x-ce", "x-other"},
	"HTTPRoute spec.rules[].filters[].cors.maxAge":                                      {"maxAge: 77", "maxAge: 78"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].type":                               {"- type: RequestHeaderModifier\n        requestH", "- type: ExtensionRef\n        requestH"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.set[].name":   {"x-bqs", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.set[].value":  {"bqs-value", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.add[].name":   {"x-bqa", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.add[].value":  {"bqa-value", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.remove[]":     {"x-bqr", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.set[].name":  {"x-brs", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.set[].value": {"brs-value", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.add[].name":  {"x-bra", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.add[].value": {"bra-value", "x-other"},
	"HTTPRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.remove[]":    {"x-brr", "x-other"},

	"HTTPRoute spec.parentRefs[].group":                                   {"{group: gateway.networking.k8s.io, kind: Gateway", "{group: example.com, kind: Gateway"},
	"HTTPRoute spec.parentRefs[].kind":                                    {"kind: Gateway, namespace", "kind: Other, namespace"},
	"HTTPRoute spec.parentRefs[].namespace":                               {"namespace: infra, name: web", "namespace: other, name: web"},
	"HTTPRoute spec.parentRefs[].name":                                    {"name: web, sectionName", "name: other, sectionName"},
	"HTTPRoute spec.parentRefs[].sectionName":                             {"sectionName: main", "sectionName: gone"},
	"HTTPRoute spec.parentRefs[].port":                                    {"sectionName: spare, port: 8002}", "sectionName: spare, port: 8000}"},
	"HTTPRoute spec.useDefaultGateways":                                   {"useDefaultGateways: None", "useDefaultGateways: All"},
	"HTTPRoute spec.hostnames[]":                                          {"hostnames: [a.example.com]", "hostnames: [b.example.com]"},
	"HTTPRoute spec.rules[].name":                                         {"name: rule-name", "name: other-name"},
	"HTTPRoute spec.rules[].matches[].path.type":                          {"type: Exact, value: /path", "type: PathPrefix, value: /path"},
	"HTTPRoute spec.rules[].matches[].path.value":                         {"value: /path", "value: /other"},
	"HTTPRoute spec.rules[].matches[].headers[].type":                     {"{type: Exact, name: X-H", "{type: RegularExpression, name: X-H"},
	"HTTPRoute spec.rules[].matches[].headers[].name":                     {"name: X-H", "name: X-I"},
	"HTTPRoute spec.rules[].matches[].headers[].value":                    {"value: header-value", "value: other-value"},
	"HTTPRoute spec.rules[].matches[].queryParams[].type":                 {"{type: Exact, name: q", "{type: RegularExpression, name: q"},
	"HTTPRoute spec.rules[].matches[].queryParams[].name":                 {"name: q,", "name: r,"},
	"HTTPRoute spec.rules[].matches[].queryParams[].value":                {"value: query-value", "value: other-value"},
	"HTTPRoute spec.rules[].matches[].method":                             {"method: POST", "method: PUT"},
	"HTTPRoute spec.rules[].backendRefs[].group":                          {`{group: "", kind: Service`, "{group: example.com, kind: Service"},
	"HTTPRoute spec.rules[].backendRefs[].kind":                           {"kind: Service, namespace", "kind: Bucket, namespace"},
	"HTTPRoute spec.rules[].backendRefs[].namespace":                      {"namespace: shop, name: cart", "namespace: other, name: cart"},
	"HTTPRoute spec.rules[].backendRefs[].name":                           {"name: cart, port", "name: other, port"},
	"HTTPRoute spec.rules[].backendRefs[].port":                           {"port: 80, weight", "port: 81, weight"},
	"HTTPRoute spec.rules[].backendRefs[].weight":                         {"weight: 3", "weight: 4"},
	"HTTPRoute spec.rules[].timeouts.request":                             {"request: 66s", "request: 67s"},
	"HTTPRoute spec.rules[].timeouts.backendRequest":                      {"backendRequest: 22s", "backendRequest: 23s"},
	"HTTPRoute spec.rules[].retry.codes[]":                                {"codes: [503, 504]", "codes: [503, 502]"},
	"HTTPRoute spec.rules[].retry.attempts":                               {"attempts: 6", "attempts: 7"},
	"HTTPRoute spec.rules[].retry.backoff":                                {"backoff: 66ms", "backoff: 67ms"},
	"HTTPRoute spec.rules[].sessionPersistence.sessionName":               {"sessionName: cart", "sessionName: other"},
	"HTTPRoute spec.rules[].sessionPersistence.absoluteTimeout":           {"absoluteTimeout: 8h", "absoluteTimeout: 9h"},
	"HTTPRoute spec.rules[].sessionPersistence.type":                      {"type: Header", "type: Cookie"},
	"HTTPRoute spec.rules[].sessionPersistence.cookieConfig.lifetimeType": {"lifetimeType: Permanent", "lifetimeType: Session"},

	"GRPCRoute spec.rules[].filters[].type":                                             {"- type: RequestHeaderModifier # calls\n", "- type: ExtensionRef\n"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].type":                               {"- type: RequestHeaderModifier # calls of a backend", "- type: ExtensionRef"},
	"GRPCRoute spec.rules[].filters[].requestMirror.percent":                            {"percent: 41", "percent: 43"},
	"GRPCRoute spec.rules[].filters[].requestMirror.fraction.numerator":                 {"numerator: 2", "numerator: 4"},
	"GRPCRoute spec.rules[].filters[].requestMirror.fraction.denominator":               {"denominator: 9", "denominator: 8"},
	"GRPCRoute spec.rules[].filters[].requestMirror.backendRef.group":                   {"41, backendRef: {group: \"\"", "41, backendRef: {group: example.com"},
	"GRPCRoute spec.rules[].filters[].requestMirror.backendRef.kind":                    {"41, backendRef: {group: \"\", kind: Service", "41, backendRef: {group: \"\", kind: Bucket"},
	"GRPCRoute spec.rules[].filters[].requestMirror.backendRef.namespace":               {"namespace: shop, name: six, port: 80}} # calls", "namespace: other, name: six, port: 80}}"},
	"GRPCRoute spec.rules[].filters[].requestMirror.backendRef.name":                    {"name: six, port: 80}} # calls", "name: gone, port: 80}}"},
	"GRPCRoute spec.rules[].filters[].requestMirror.backendRef.port":                    {"port: 80}} # calls", "port: 81}}"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.set[].name":   {"x-gbqs", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.set[].value":  {"gbqs-value", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.add[].name":   {"x-gbqa", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.add[].value":  {"gbqa-value", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].requestHeaderModifier.remove[]":     {"x-gbqr]", "x-other]"},
	"GRPCRoute spec.rules[].filters[].requestHeaderModifier.set[].name":                 {"x-gqs", "x-other"},
	"GRPCRoute spec.rules[].filters[].requestHeaderModifier.set[].value":                {"gqs-value", "x-other"},
	"GRPCRoute spec.rules[].filters[].requestHeaderModifier.add[].name":                 {"x-gqa", "x-other"},
	"GRPCRoute spec.rules[].filters[].requestHeaderModifier.add[].value":                {"gqa-value", "x-other"},
	"GRPCRoute spec.rules[].filters[].requestHeaderModifier.remove[]":                   {"x-gqr]", "x-other]"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.set[].name":  {"x-gbrs", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.set[].value": {"gbrs-value", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.add[].name":  {"x-gbra", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.add[].value": {"gbra-value", "x-other"},
	"GRPCRoute spec.rules[].backendRefs[].filters[].responseHeaderModifier.remove[]":    {"x-gbrr]", "x-other]"},
	"GRPCRoute spec.rules[].filters[].responseHeaderModifier.set[].name":                {"x-grs", "x-other"},
	"GRPCRoute spec.rules[].filters[].responseHeaderModifier.set[].value":               {"grs-value", "x-other"},
	"GRPCRoute spec.rules[].filters[].responseHeaderModifier.add[].name":                {"x-gra", "x-other"},
	"GRPCRoute spec.rules[].filters[].responseHeaderModifier.add[].value":               {"gra-value", "x-other"},
	"GRPCRoute spec.rules[].filters[].responseHeaderModifier.remove[]":                  {"x-grr]", "x-other]"},

	"GRPCRoute spec.parentRefs[].group":                                   {"group: gateway.networking.k8s.io, kind: Gateway, namespace: infra, name: web, sectionName: main, port: 8000} # calls", "group: example.com, kind: Gateway, namespace: infra, name: web, sectionName: main, port: 8000}"},
	"GRPCRoute spec.parentRefs[].kind":                                    {"kind: Gateway, namespace: infra, name: web, sectionName: main, port: 8000} # calls", "kind: Other, namespace: infra, name: web, sectionName: main, port: 8000}"},
	"GRPCRoute spec.parentRefs[].namespace":                               {"namespace: infra, name: web, sectionName: main, port: 8000} # calls", "namespace: other, name: web, sectionName: main, port: 8000}"},
	"GRPCRoute spec.parentRefs[].name":                                    {"name: web, sectionName: main, port: 8000} # calls", "name: other, sectionName: main, port: 8000}"},
	"GRPCRoute spec.parentRefs[].sectionName":                             {"sectionName: main, port: 8000} # calls", "sectionName: gone, port: 8000}"},
	"GRPCRoute spec.parentRefs[].port":                                    {"port: 8000} # calls", "port: 8001}"},
	"GRPCRoute spec.useDefaultGateways":                                   {"useDefaultGateways: None # calls", "useDefaultGateways: All"},
	"GRPCRoute spec.hostnames[]":                                          {"hostnames: [calls.example.com]", "hostnames: [cells.example.com]"},
	"GRPCRoute spec.rules[].name":                                         {"name: calls-name", "name: other-name"},
	"GRPCRoute spec.rules[].matches[].method.type":                        {"{type: Exact, service", "{type: RegularExpression, service"},
	"GRPCRoute spec.rules[].matches[].method.service":                     {"service: shop.Cart", "service: shop.Other"},
	"GRPCRoute spec.rules[].matches[].method.method":                      {"method: Add", "method: Remove"},
	"GRPCRoute spec.rules[].matches[].headers[].type":                     {"{type: Exact, name: X-Call", "{type: RegularExpression, name: X-Call"},
	"GRPCRoute spec.rules[].matches[].headers[].name":                     {"name: X-Call", "name: X-Coll"},
	"GRPCRoute spec.rules[].matches[].headers[].value":                    {"value: call-value", "value: other-value"},
	"GRPCRoute spec.rules[].backendRefs[].group":                          {`{group: "", kind: Service, namespace: shop, name: six`, "{group: example.com, kind: Service, namespace: shop, name: six"},
	"GRPCRoute spec.rules[].backendRefs[].kind":                           {"kind: Service, namespace: shop, name: six", "kind: Bucket, namespace: shop, name: six"},
	"GRPCRoute spec.rules[].backendRefs[].namespace":                      {"namespace: shop, name: six", "namespace: other, name: six"},
	"GRPCRoute spec.rules[].backendRefs[].name":                           {"name: six, port: 80, weight: 7", "name: seven, port: 80, weight: 7"},
	"GRPCRoute spec.rules[].backendRefs[].port":                           {"port: 80, weight: 7", "port: 81, weight: 7"},
	"GRPCRoute spec.rules[].backendRefs[].weight":                         {"weight: 7", "weight: 8"},
	"GRPCRoute spec.rules[].sessionPersistence.sessionName":               {"sessionName: calls-session", "sessionName: other"},
	"GRPCRoute spec.rules[].sessionPersistence.absoluteTimeout":           {"absoluteTimeout: 7h", "absoluteTimeout: 9h"},
	"GRPCRoute spec.rules[].sessionPersistence.type":                      {"type: Header, sessionName: x-calls", "type: Cookie, sessionName: x-calls"},
	"GRPCRoute spec.rules[].sessionPersistence.cookieConfig.lifetimeType": {"lifetimeType: Permanent} # calls", "lifetimeType: Session}"},

	"ReferenceGrant spec.from[].group":     {"from: [{group: gateway.networking.k8s.io", "from: [{group: example.com"},
	"ReferenceGrant spec.from[].kind":      {"kind: Gateway, namespace: infra}]", "kind: HTTPRoute, namespace: infra}]"},
	"ReferenceGrant spec.from[].namespace": {"kind: Gateway, namespace: infra}]", "kind: Gateway, namespace: shop}]"},
	"ReferenceGrant spec.to[].group":       {`to: [{group: ""`, "to: [{group: example.com"},
	"ReferenceGrant spec.to[].kind":        {`to: [{group: "", kind: Secret`, `to: [{group: "", kind: Service`},
	"ReferenceGrant spec.to[].name":        {"kind: Secret, name: shop}", "kind: Secret, name: ship}"},
	"Secret type":                          {"type: kubernetes.io/tls", "type: Opaque"},
	"Secret data":                          {"\ndata:\n", "\nlabels:\n"},
	"Secret stringData":                    {"stringData:\n", "data:\n"},

	"Service spec.type":                {"type: ClusterIP", "type: ExternalName"},
	"Service spec.sessionAffinity":     {"sessionAffinity: None", "sessionAffinity: ClientIP"},
	"Service spec.externalName":        {"externalName: outside.example.com", "externalName: other.example.com"},
	"Service spec.trafficDistribution": {"trafficDistribution: PreferClose", "trafficDistribution: PreferNothing"},
	"Service spec.ipFamilies":          {"ipFamilies: [IPv6]", "ipFamilies: [IPv4]"},
	"Service spec.ports[].name":        {"name: web, port: 80", "name: www, port: 80"},
	"Service spec.ports[].port":        {"port: 80, protocol: TCP, appProtocol", "port: 81, protocol: TCP, appProtocol"},
	"Service spec.ports[].protocol":    {"protocol: TCP, appProtocol", "protocol: UDP, appProtocol"},
	"Service spec.ports[].appProtocol": {"appProtocol: http}", "appProtocol: https}"},

	"LoadBalancerPolicy spec.targetRefs[].group":                                                                 {"group: gateway.networking.k8s.io, kind: HTTPRoute, name: hashed", "group: example.com, kind: HTTPRoute, name: hashed"},
	"LoadBalancerPolicy spec.targetRefs[].kind":                                                                  {"kind: HTTPRoute, name: hashed", "kind: GRPCRoute, name: hashed"},
	"LoadBalancerPolicy spec.targetRefs[].name":                                                                  {"name: hashed, sectionName", "name: cart, sectionName"},
	"LoadBalancerPolicy spec.targetRefs[].namespace":                                                             {"name: hashed, sectionName", "namespace: elsewhere, name: hashed, sectionName"},
	"LoadBalancerPolicy spec.targetRefs[].sectionName":                                                           {"sectionName: hashed-rule", "sectionName: other-rule"},
	"LoadBalancerPolicy spec.strategy":                                                                           {"strategy: RequestHash", "strategy: Random"},
	"LoadBalancerPolicy spec.requestHashPolicies[].terminal":                                                     {"terminal: true", "terminal: false"},
	"LoadBalancerPolicy spec.requestHashPolicies[].headerHashOptions.headerName":                                 {"headerName: X-Hashed", "headerName: X-Other"},
	"LoadBalancerPolicy spec.requestHashPolicies[].headerHashOptions.valueRewriteRegex":                          {"valueRewriteRegex: hashed-regex", "valueRewriteRegex: other-regex"},
	"LoadBalancerPolicy spec.requestHashPolicies[].headerHashOptions.valueRewriteReplacement":                    {"valueRewriteReplacement: hashed-text", "valueRewriteReplacement: other-text"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].headerHashOptions.valueRewriteRegex":       {"valueRewriteRegex: proxy-regex", "valueRewriteRegex: other-regex"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].headerHashOptions.valueRewriteReplacement": {"valueRewriteReplacement: proxy-text", "valueRewriteReplacement: other-text"},
	"LoadBalancerPolicy spec.requestHashPolicies[].cookieHashOptions.cookieName":                                 {"cookieName: hashed-cookie", "cookieName: other-cookie"},
	"LoadBalancerPolicy spec.requestHashPolicies[].cookieHashOptions.ttl":                                        {"ttl: 3h", "ttl: 4h"},
	"LoadBalancerPolicy spec.requestHashPolicies[].cookieHashOptions.path":                                       {"path: /hashed-path", "path: /other-path"},
	"LoadBalancerPolicy spec.requestHashPolicies[].queryParameterHashOptions.parameterName":                      {"parameterName: hashed-parameter", "parameterName: other-parameter"},
	"LoadBalancerPolicy spec.requestHashPolicies[].hashSourceIP":                                                 {"hashSourceIP: true", "hashSourceIP: false"},

	"LoadBalancerPolicy spec.healthCheck.type":                          {"type: HTTP # checked", "type: TCP # checked"},
	"LoadBalancerPolicy spec.healthCheck.interval":                      {"interval: 31s", "interval: 51s"},
	"LoadBalancerPolicy spec.healthCheck.timeout":                       {"timeout: 32s", "timeout: 52s"},
	"LoadBalancerPolicy spec.healthCheck.unhealthyThreshold":            {"unhealthyThreshold: 33", "unhealthyThreshold: 53"},
	"LoadBalancerPolicy spec.healthCheck.healthyThreshold":              {"healthyThreshold: 34", "healthyThreshold: 54"},
	"LoadBalancerPolicy spec.healthCheck.http.path":                     {"path: /checked-path", "path: /other-path"},
	"LoadBalancerPolicy spec.healthCheck.http.hostname":                 {"hostname: checked.example.com", "hostname: other.example.com"},
	"LoadBalancerPolicy spec.healthCheck.http.expectedStatuses[]":       {"[205]", "[206]"},
	"LoadBalancerPolicy spec.healthCheck.grpc.service":                  {"service: checked-service", "service: other-service"},
	"LoadBalancerPolicy spec.outlierDetection.consecutive5xxErrors":     {"consecutive5xxErrors: 35", "consecutive5xxErrors: 55"},
	"LoadBalancerPolicy spec.outlierDetection.consecutiveGatewayErrors": {"consecutiveGatewayErrors: 36", "consecutiveGatewayErrors: 56"},
	"LoadBalancerPolicy spec.outlierDetection.interval":                 {"interval: 37s", "interval: 57s"},
	"LoadBalancerPolicy spec.outlierDetection.baseEjectionTime":         {"baseEjectionTime: 38s", "baseEjectionTime: 58s"},
	"LoadBalancerPolicy spec.outlierDetection.maxEjectionPercent":       {"maxEjectionPercent: 39", "maxEjectionPercent: 59"},
	"LoadBalancerPolicy spec.limits.maxConnections":                     {"maxConnections: 42", "maxConnections: 62"},
	"LoadBalancerPolicy spec.slowStart.window":                          {"window: 40s", "window: 60s"},
	"LoadBalancerPolicy spec.slowStart.minWeightPercent":                {"minWeightPercent: 41", "minWeightPercent: 61"},

	"XBackendTrafficPolicy spec.targetRefs[].group":                    {`[{group: "", kind: Service, name: leaving}]`, "[{group: example.com, kind: Service, name: leaving}]"},
	"XBackendTrafficPolicy spec.targetRefs[].kind":                     {`[{group: "", kind: Service, name: leaving}]`, `[{group: "", kind: Bucket, name: leaving}]`},
	"XBackendTrafficPolicy spec.targetRefs[].name":                     {`[{group: "", kind: Service, name: leaving}]`, `[{group: "", kind: Service, name: left}]`},
	"XBackendTrafficPolicy spec.retryConstraint.budget.percent":        {"percent: 33", "percent: 34"},
	"XBackendTrafficPolicy spec.retryConstraint.budget.interval":       {"interval: 33s", "interval: 34s"},
	"XBackendTrafficPolicy spec.retryConstraint.minRetryRate.count":    {"count: 33", "count: 34"},
	"XBackendTrafficPolicy spec.retryConstraint.minRetryRate.interval": {"interval: 1s", "interval: 2s"},
	// what stands inline of session persistence is in effects_session_test.go

	"HTTPProxy spec.virtualhost.fqdn":                                                                          {"fqdn: proxy.", "fqdn: other."},
	"HTTPProxy spec.routes[].conditions[].prefix":                                                              {"/proxy-prefix", "/other-prefix"},
	"HTTPProxy spec.routes[].conditions[].exact":                                                               {"/proxy-exact", "/other-exact"},
	"HTTPProxy spec.routes[].services[].name":                                                                  {"{name: leaving, port: 80, weight: 13}", "{name: cart, port: 80, weight: 13}"},
	"HTTPProxy spec.routes[].services[].port":                                                                  {"{name: leaving, port: 80, weight: 13}", "{name: leaving, port: 81, weight: 13}"},
	"HTTPProxy spec.routes[].services[].weight":                                                                {"weight: 13", "weight: 14"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.strategy":                                                      {"strategy: RequestHash # proxy", "strategy: Random # proxy"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].terminal":                                {"{terminal: true, headerHashOptions: {headerName: X-Proxy}} # proxy", "{headerHashOptions: {headerName: X-Proxy}} # proxy"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].headerHashOptions.headerName":            {"X-Proxy", "X-Prexy"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].cookieHashOptions.cookieName":            {"proxy-cookie,", "other-cookie,"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].cookieHashOptions.ttl":                   {"ttl: 5h", "ttl: 6h"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].cookieHashOptions.path":                  {"/proxy-cookie-path", "/other-cookie-path"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].queryParameterHashOptions.parameterName": {"proxy-parameter", "other-parameter"},
	"HTTPProxy spec.routes[].loadBalancerPolicy.requestHashPolicies[].hashSourceIP":                            {"{hashSourceIP: true} # proxy", "{hashSourceIP: false} # proxy"},

	"EndpointSlice addressType":                        {"addressType: IPv4", "addressType: FQDN"},
	"EndpointSlice ports[].name":                       {"name: web, port: 8080", "name: www, port: 8080"},
	"EndpointSlice ports[].port":                       {"port: 8080", "port: 8081"},
	"EndpointSlice ports[].protocol":                   {"protocol: TCP}]", "protocol: UDP}]"},
	"EndpointSlice endpoints[].addresses[]":            {"addresses: [10.0.0.1]", "addresses: [10.0.0.7]"},
	"EndpointSlice endpoints[].targetRef.uid":          {"addresses: [10.0.0.1]", "targetRef: {uid: u}, addresses: [10.0.0.1]"},
	"EndpointSlice endpoints[].zone":                   {"zone: here", "zone: there"},
	"EndpointSlice endpoints[].hints.forZones[].name":  {"forZones: [{name: here}]", "forZones: [{name: there}]"},
	"EndpointSlice endpoints[].hostname":               {"hostname: leaving-0", "hostname: leaving-1"},
	"EndpointSlice endpoints[].conditions.ready":       {"ready: true", "ready: false"},
	"EndpointSlice endpoints[].conditions.serving":     {"serving: true", "serving: false"},
	"EndpointSlice endpoints[].conditions.terminating": {"terminating: true", "terminating: false"},
}

// TestSupportedFieldsHaveAnEffect changes one supported field at a time: the outputs or the warnings must change
// too, for a field that is accepted and does nothing is the worst fault of a compiler.
func TestSupportedFieldsHaveAnEffect(t *testing.T) {
	t.Parallel()
	world := loadObjects(t, "effects.yaml", "effects-stream.yaml")
	f := newFollower(t, Options{manyRoutes: 1, AllowEmpty: true, Zone: "here", ExternalNames: []string{"*"}, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}})
	var all []Source
	for _, object := range world {
		all = append(all, Source{Name: object.name, Data: []byte(object.text)})
	}
	base, err := applyOutcome(f, all...)
	if err != nil || len(base.Served) == 0 {
		t.Fatalf("the input for this test does not compile: %v", err)
	}
	maps.Copy(fieldEffects, sessionEffects)
	maps.Copy(fieldEffects, streamEffects)
	var changes []Source
	fields, last := 0, 0
	for kind, table := range resource.SupportedFields() {
		for path, treatment := range table {
			if treatment.Ignored != "" || kind == "SessionPersistencePolicy" {
				continue // of the latter TestSettingsHaveAnEffect has the lines
			}
			fields++
			e, ok := fieldEffects[kind+" "+path]
			at := slices.IndexFunc(world, func(o *worldObject) bool { return ok && strings.Contains(o.text, e.old) })
			if at < 0 {
				t.Errorf("no change shows the effect of %s %s", kind, path)
				continue
			}
			if last != at { // what was changed before is what it was again
				changes = append(changes, all[last])
			}
			changes = append(changes, Source{Name: all[at].Name, Data: []byte(strings.Replace(world[at].text, e.old, e.new, 1))})
			changed, err := applyOutcome(f, changes...)
			if err != nil {
				t.Fatal(err)
			}
			if sameOutcome(base, changed) {
				t.Errorf("%s %s is accepted and has no effect: %q instead of %q", kind, path, e.new, e.old)
			}
			changes, last = nil, at
		}
	}
	if again, err := applyOutcome(f, all[last]); err != nil || !sameOutcome(base, again) {
		t.Errorf("with all as it was the outcome is another one: %v", err) // then nothing above could fail
	}
	if fields != len(fieldEffects) {
		t.Errorf("%d fields are supported, and %d changes are listed", fields, len(fieldEffects))
	}
}

// applyOutcome is all that a change of some sources comes to.
func applyOutcome(f *Follower, changed ...Source) (*Result, error) {
	update, err := f.Apply(Changes{Set: changed})
	if err != nil {
		return nil, err
	}
	return update.Result()
}

func sameOutcome(a, b *Result) bool {
	return reflect.DeepEqual(a.Served, b.Served) && bytes.Equal(a.PluginJSON, b.PluginJSON) && slices.Equal(a.Warnings, b.Warnings) && slices.Equal(a.Pods, b.Pods)
}
