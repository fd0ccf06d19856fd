package harness

import (
	"fmt"
	"strings"
	"testing"
	"text/template"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Documents describe what a test deploys: one Gateway with an HTTP listener on 127.0.0.1, HTTPRoutes, and a
// Service with EndpointSlices for each set of backends. All of it is in the namespace "default".
type Documents struct {
	Services []Service
	Routes   []Route
	// More are further documents as YAML, such as a policy.
	More string
	// Raw are all documents as YAML, in place of everything else but the ports.
	Raw string
	// Port is the listener's; 0 takes a free one.
	Port int
	// Sites are HTTPS listeners besides it, all on TLSPort, which is as Port. They take the same routes.
	Sites   []Site
	TLSPort int
	// GatewayTLS is the Gateway's spec.tls as YAML; empty leaves it out.
	GatewayTLS string
}

// Site is an HTTPS listener, for every hostname where it names none, with its certificate.
type Site struct {
	Hostname    string
	Certificate Certificate
}

// Service is a Service on port 80 and its backends.
type Service struct {
	Name     string
	Backends []*Backend
	// Draining are backends that terminate and still serve.
	Draining []*Backend
	// AppProtocol is the port's, such as kubernetes.io/ws; empty leaves it out.
	AppProtocol string
	// TrafficDistribution is the Service's, such as PreferClose; empty leaves it out.
	TrafficDistribution string
}

// Route is an HTTPRoute.
type Route struct {
	Name      string
	Hostnames []string
	Rules     []Rule
}

// Rule is a rule of an HTTPRoute with one match on the path.
type Rule struct {
	// Path is what is matched, as a prefix unless Exact.
	Path  string
	Exact bool
	Refs  []Ref
	// Session is the rule's sessionPersistence; nil leaves it out.
	Session *Session
	// Tries are lines such as "timeouts: {request: 2s}".
	Tries []string
}

// Ref is a weighted reference to a Service.
type Ref struct {
	Service string
	Weight  int
}

// Session is sessionPersistence as Gateway API 1.6 writes it; empty fields are left out.
type Session struct {
	Name, AbsoluteTimeout string
	Type                  policyconfig.Type
	Lifetime              policyconfig.LifetimeType
}

// To is a reference to one Service.
func To(service string) []Ref { return []Ref{{Service: service, Weight: 1}} }

// CookieRule is a rule for the path prefix /NAME with a cookie session of that name on one Service.
func CookieRule(name, service string) Rule {
	return Rule{Path: "/" + name, Refs: To(service), Session: &Session{Name: name, Type: policyconfig.TypeCookie}}
}

// HeaderRule is a rule for the path prefix /NAME with a session header of that name on one Service.
func HeaderRule(name, service string) Rule {
	return Rule{Path: "/" + name, Refs: To(service), Session: &Session{Name: name, Type: policyconfig.TypeHeader}}
}

// PlainRule is a rule for the path prefix /NAME without session persistence.
func PlainRule(name, service string) Rule { return Rule{Path: "/" + name, Refs: To(service)} }

// OneRoute deploys these backends as the Service "pods" with one HTTPRoute named "app".
func OneRoute(pods []*Backend, rules ...Rule) Documents {
	return Documents{
		Services: []Service{{Name: "pods", Backends: pods}},
		Routes:   []Route{{Name: "app", Rules: rules}},
	}
}

// YAML writes the documents.
func (d Documents) YAML(t testing.TB) string {
	t.Helper()
	if d.Raw != "" {
		return d.Raw
	}
	var text strings.Builder
	if err := documentsTemplate.Execute(&text, d); err != nil {
		t.Fatal(err)
	}
	if d.More != "" {
		text.WriteString("\n---\n" + d.More)
	}
	return text.String()
}

var documentsTemplate = template.Must(template.New("documents").Funcs(template.FuncMap{"quote": quote}).Parse(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: default}
spec:
  gatewayClassName: limpet
{{- with .GatewayTLS}}
  tls: {{.}}
{{- end}}
  listeners:
  - {name: http, protocol: HTTP, port: {{.Port}}}
{{- $port := .TLSPort}}{{range $i, $site := .Sites}}
  - name: https-{{$i}}
    protocol: HTTPS
    port: {{$port}}
    {{- with .Hostname}}
    hostname: {{quote .}}
    {{- end}}
    tls: {certificateRefs: [{name: https-{{$i}}}]}
{{- end}}
{{- range $i, $site := .Sites}}
---
apiVersion: v1
kind: Secret
metadata: {name: https-{{$i}}, namespace: default}
type: kubernetes.io/tls
stringData:
  tls.crt: {{quote .Certificate.Chain}}
  tls.key: {{quote .Certificate.Key}}
{{- end}}
{{- range .Services}}{{$service := .Name}}
---
apiVersion: v1
kind: Service
metadata: {name: {{.Name}}, namespace: default}
spec:
  {{- with .TrafficDistribution}}
  trafficDistribution: {{.}}
  {{- end}}
  ports:
  - {name: http, port: 80, protocol: TCP{{with .AppProtocol}}, appProtocol: {{quote .}}{{end}}}
{{- range $i, $backend := .Backends}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: {{$service}}-{{$i}}
  namespace: default
  labels: {kubernetes.io/service-name: {{$service}}}
addressType: IPv4
ports:
- {name: http, port: {{$backend.Port}}, protocol: TCP}
endpoints:
- addresses: [127.0.0.1]
  conditions: {ready: true}
  {{- with $backend.UID}}
  targetRef: {kind: Pod, namespace: default, name: pod, uid: {{quote .}}}
  {{- end}}
  {{- with $backend.Hostname}}
  hostname: {{.}}
  {{- end}}
  {{- with $backend.Zone}}
  zone: {{.}}
  {{- end}}
{{- end}}
{{- range $i, $backend := .Draining}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: {{$service}}-draining-{{$i}}
  namespace: default
  labels: {kubernetes.io/service-name: {{$service}}}
addressType: IPv4
ports:
- {name: http, port: {{$backend.Port}}, protocol: TCP}
endpoints:
- addresses: [127.0.0.1]
  conditions: {ready: false, serving: true, terminating: true}
{{- end}}{{end}}
{{- range .Routes}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: {{.Name}}, namespace: default}
spec:
  parentRefs:
  - {name: edge}
{{- with .Hostnames}}
  hostnames:
  {{- range .}}
  - {{quote .}}
  {{- end}}
{{- end}}
  rules:
{{- range .Rules}}
  - matches:
    - path: {type: {{if .Exact}}Exact{{else}}PathPrefix{{end}}, value: {{quote .Path}}}
    {{- with .Refs}}
    backendRefs:
    {{- range .}}
    - {name: {{.Service}}, port: 80, weight: {{.Weight}}}
    {{- end}}
    {{- end}}
    {{- with .Session}}
    sessionPersistence:
      {{- with .Name}}
      sessionName: {{quote .}}
      {{- end}}
      {{- with .Type}}
      type: {{.}}
      {{- end}}
      {{- with .AbsoluteTimeout}}
      absoluteTimeout: {{.}}
      {{- end}}
      {{- with .Lifetime}}
      cookieConfig: {lifetimeType: {{.}}}
      {{- end}}
    {{- end}}
    {{- range .Tries}}
    {{.}}
    {{- end}}
{{- end}}
{{- end}}
`))

func quote(s string) string { return fmt.Sprintf("%q", s) }
