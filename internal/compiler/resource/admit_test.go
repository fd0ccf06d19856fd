package resource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// document is one of a kind, by apiVersion/kind, called x, with more fields.
func document(kind, fields string) string {
	at := strings.LastIndexByte(kind, '/')
	return "{apiVersion: " + kind[:at] + ", kind: " + kind[at+1:] + ", metadata: {name: x}, " + fields + "}"
}

// The kinds of the documents.
const (
	service       = "v1/Service"
	secret        = "v1/Secret"
	endpointSlice = "discovery.k8s.io/v1/EndpointSlice"
	gatewayClass  = "gateway.networking.k8s.io/v1/GatewayClass"
	gateway       = "gateway.networking.k8s.io/v1/Gateway"
	httpRoute     = "gateway.networking.k8s.io/v1/HTTPRoute"
	grpcRoute     = "gateway.networking.k8s.io/v1/GRPCRoute"
	xbackend      = "gateway.networking.x-k8s.io/v1alpha1/XBackend"
	trafficPolicy = "gateway.networking.x-k8s.io/v1alpha1/XBackendTrafficPolicy"
	sessionPolicy = "limpet.dev/v1alpha1/SessionPersistencePolicy"
	loadBalancer  = "limpet.dev/v1alpha1/LoadBalancerPolicy"
	httpProxy     = "projectcontour.io/v1/HTTPProxy"
	istioGateway  = "networking.istio.io/v1/Gateway"
	virtualServ   = "networking.istio.io/v1/VirtualService"
	serviceEntry  = "networking.istio.io/v1/ServiceEntry"
)

// refusal is a document and what is wrong with it, in order.
type refusal struct {
	document string
	want     []string
}

func checkRefusals(t *testing.T, o resource.Options, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, o, c)
		})
	}
}

func checkRefusal(t *testing.T, o resource.Options, c refusal) {
	t.Helper()
	o.StrictKinds = true
	objects, rep := compilertest.TryAdmit(t, o, c.document)
	problems := slices.DeleteFunc(rep.Errors(false), func(p report.Problem) bool {
		return strings.HasPrefix(p.Message, "some validation rules were not checked") // which comes with other errors
	})
	compilertest.CheckProblems(t, problems, c.want...)
	if len(c.want) == 0 && countObjects(objects) != 1 {
		t.Errorf("%d objects were admitted", countObjects(objects))
	}
}

// countObjects counts those of all kinds that the registry shows.
func countObjects(o *resource.Objects) (n int) {
	o.Visit(func(resource.Traits) bool { return true }, func(resource.Entry) { n++ })
	return n + len(o.Platform)
}

// TestDocumentsThatAreNoObjects are refused with what every object has.
func TestDocumentsThatAreNoObjects(t *testing.T) {
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"no kind":                           {"{apiVersion: v1, metadata: {name: x}}", []string{"kind: Required value: every object names its type"}},
		"no apiVersion":                     {"{kind: Service, metadata: {name: x}}", []string{"apiVersion: Required value: every object names its type"}},
		"kind in capitals":                  {"{apiVersion: v1, Kind: Service, metadata: {name: x}}", []string{"kind: Required value: every object names its type: write kind, not Kind"}},
		"apiVersion in lower case":          {"{apiversion: v1, kind: Service, metadata: {name: x}}", []string{"apiVersion: Required value: every object names its type: write apiVersion, not apiversion"}},
		"no metadata":                       {"{apiVersion: v1, kind: Service}", []string{"metadata: Required value: every object has a name"}},
		"a kind that is not known":          {document("apps/v1/Deployment", "spec: {}"), []string{"kind: Deployment of apps/v1 is no kind that limpet reads"}},
		"a version that is not known":       {document("gateway.networking.k8s.io/v2/Gateway", "spec: {}"), []string{`kind: no matches for kind "Gateway" in version "gateway.networking.k8s.io/v2": limpet reads Gateway of gateway.networking.k8s.io/v1 and`}},
		"Istio's kinds, for another target": {document(virtualServ, "spec: {}"), []string{"kind: VirtualService of networking.istio.io/v1 is no kind that limpet reads"}},
		"no name, built in":                 {"{apiVersion: v1, kind: Service, metadata: {}, spec: {ports: [{port: 80}]}}", []string{"metadata.name: Required value"}},
		"a name that is none":               {"{apiVersion: v1, kind: Service, metadata: {name: a.b}, spec: {ports: [{port: 80}]}}", []string{`metadata.name: Invalid value: "a.b"`}},
		"no name, with a CRD":               {"{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {}, spec: {controllerName: a.b/c}}", []string{"metadata.name: Required value"}},
		"broken YAML":                       {"{a: [}", []string{"broken YAML"}},
		"a field of another type":           {document(service, "spec: {ports: [{port: http}]}"), []string{"spec.ports.port: Invalid value: must be of type int32, not string"}},
		"an unknown field, built in":        {document(service, "spec: {ports: [{port: 80}], color: red}"), []string{"Service default/x: spec.color: unknown field"}},
		"an unknown field, with a CRD":      {document(gatewayClass, "spec: {controllerName: a.b/c, color: red}"), []string{"GatewayClass x: spec.color: unknown field"}},
		"what the CRD forbids":              {document(gatewayClass, "spec: {controllerName: none}"), []string{`GatewayClass x: spec.controllerName: Invalid value: "none": must be a domain and a path, such as limpet.dev/gateway-controller`}},
		"what a rule of the CRD forbids":    {document(gateway, "spec: {gatewayClassName: c, listeners: [{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: HTTP}]}"), []string{"Gateway default/x: spec.listeners: Invalid value: Combination of port, protocol and hostname must be unique"}},
		"a kind that is misspelt":           {document("gateway.networking.k8s.io/v1/HTTPRute", "spec: {}"), []string{`kind: no matches for kind "HTTPRute" in version "gateway.networking.k8s.io/v1"; did you mean HTTPRoute?`}},
		"a part of a kind":                  {document("gateway.networking.k8s.io/v1/Route", "spec: {}"), []string{`kind: no matches for kind "Route" in version "gateway.networking.k8s.io/v1"; did you mean HTTPRoute?`}},
		"no kind of Gateway API":            {document("gateway.networking.k8s.io/v1/Balancer", "spec: {}"), []string{`kind: no matches for kind "Balancer" in version "gateway.networking.k8s.io/v1"`}},
		"a group that is misspelt":          {document("gateway.networking.k8s.oi/v1/HTTPRoute", "spec: {}"), []string{"did you mean gateway.networking.k8s.io?"}},
		"another group of Kubernetes":       {document("networking.k8s.io/v1/HTTPRoute", "spec: {}"), []string{`no matches for kind "HTTPRoute" in version "networking.k8s.io/v1": limpet reads HTTPRoute of gateway.networking.k8s.io/v1 and`}},
		"a group cut short":                 {document("gateway.k8s.io/v1/Gateway", "spec: {}"), []string{"limpet reads Gateway of gateway.networking.k8s.io/v1 and"}},
		"the core's version":                {document("v1/HTTPRoute", "spec: {}"), []string{"limpet reads HTTPRoute of gateway.networking.k8s.io/v1 and"}},
		"a group without a version":         {document("gateway.networking.k8s.io/HTTPRoute", "spec: {}"), []string{"limpet reads HTTPRoute of gateway.networking.k8s.io/v1 and"}},
		"a Service of apps":                 {document("apps/v1/Service", "spec: {}"), []string{`no matches for kind "Service" in version "apps/v1": limpet reads Service of v1`}},
		"Gateway API's group for limpet's":  {document("gateway.networking.k8s.io/v1/SessionPersistencePolicy", "spec: {}"), []string{"limpet reads SessionPersistencePolicy of limpet.dev/v1alpha1"}},
		"limpet's kind in the plural":       {document("limpet.dev/v1alpha1/SessionPersistencePolicies", "spec: {}"), []string{"did you mean SessionPersistencePolicy?"}},
		"limpet's kind, cut short":          {document("limpet.dev/v1alpha1/SessionPolicy", "spec: {}"), []string{"did you mean SessionPersistencePolicy?"}},
		"a core kind that is misspelt":      {document("v1/Sercive", "spec: {}"), []string{"did you mean Service?"}},
		"no kind of limpet's own":           {document("limpet.dev/v1alpha1/Something", "spec: {}"), []string{`no matches for kind "Something" in version "limpet.dev/v1alpha1"`}},
		"limpet's kind, another ending":     {document("limpet.io/v1alpha1/SessionPersistencePolicy", "spec: {}"), []string{`kind: no matches for kind "SessionPersistencePolicy" in version "limpet.io/v1alpha1": limpet reads SessionPersistencePolicy of limpet.dev/v1alpha1`}},
		"limpet's kind, a longer group":     {document("gateway.limpet.dev/v1alpha1/LoadBalancerPolicy", "spec: {}"), []string{`limpet reads LoadBalancerPolicy of limpet.dev/v1alpha1`}},
		"a route of limpet's group":         {document("limpet.dev/v1alpha1/HTTPRoute", "spec: {}"), []string{`no matches for kind "HTTPRoute" in version "limpet.dev/v1alpha1": limpet reads HTTPRoute of gateway.networking.k8s.io/v1 and`}},
		"no kind of a group like limpet's":  {document("Policy.Limpet.dev/v1/Something", "spec: {}"), []string{`no matches for kind "Something" in version "Policy.Limpet.dev/v1"; did you mean limpet.dev?`}},
		"limpet's group for Gateway API's":  {document("limpet.dev/v1alpha1/BackendLBPolicy", "spec: {}"), []string{`no matches for kind "BackendLBPolicy" in version "limpet.dev/v1alpha1"`}},
		"a kind that left the experiments":  {document("gateway.networking.k8s.io/v1/XListenerSet", "spec: {}"), []string{`no matches for kind "XListenerSet" in version "gateway.networking.k8s.io/v1"; did you mean ListenerSet?`}},
		"a kind that is an experiment":      {document("gateway.networking.x-k8s.io/v1alpha1/XListenerSet", "spec: {}"), []string{"kind: XListenerSet of gateway.networking.x-k8s.io/v1alpha1 is no kind that limpet reads"}},
		"a kind that only limpet has":       {document("sessions.example/v1/SessionPersistencePolicy", "spec: {}"), []string{"limpet reads SessionPersistencePolicy of limpet.dev/v1alpha1"}},
		"limpet's kind of somebody else":    {document("gateway.flomesh.io/v1alpha1/LoadBalancerPolicy", "spec: {}"), []string{"kind: LoadBalancerPolicy of gateway.flomesh.io/v1alpha1 is no kind that limpet reads"}},
		"a core kind that is another one":   {document("v1/Node", "spec: {}"), []string{"kind: Node of v1 is no kind that limpet reads"}},
		"the status counts for nothing":     {document(gatewayClass, "spec: {controllerName: a.b/c}, status: {conditions: 7}"), nil},
	})
}

// TestRefusalsSayWhatToWrite holds that what a server says in terms of schemas is said in those of documents.
func TestRefusalsSayWhatToWrite(t *testing.T) {
	policy := func(spec string) string {
		return document(sessionPolicy, "spec: {targetRefs: [{kind: HTTPRoute, name: r}], "+spec+"}")
	}
	route := func(spec string) string { return document(httpRoute, "spec: {"+spec+"}") }
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"a duration in words":   {policy("absoluteTimeout: 8 hours"), []string{`spec.absoluteTimeout: Invalid value: "8 hours": must be a GEP-2257 duration, such as 1h30m: one to four parts, each of one to five digits and h, m, s or ms; a day is 24h`}},
		"a duration in days":    {policy("absoluteTimeout: 1d"), []string{`"1d": must be a GEP-2257 duration`}},
		"a duration's number":   {policy("absoluteTimeout: 3600"), []string{"spec.absoluteTimeout: Invalid value: 3600: must be a duration with its unit: write 3600s for seconds"}},
		"idle for too long":     {policy("idleTimeout: 13h, absoluteTimeout: 12h"), []string{`spec.idleTimeout: Invalid value: "13h": must not be longer than the absolute timeout, 12h`}},
		"idle, and seconds":     {policy("idleTimeout: 13h, absoluteTimeoutSeconds: 60"), []string{`"13h": must not be longer than the absolute timeout, 60s`}},
		"a path without slash":  {policy("cookie: {path: account}"), []string{`spec.cookie.path: Invalid value: "account": must begin with a slash and have neither space nor semicolon, such as /cart`}},
		"a name with a space":   {policy("sessionName: my cart"), []string{`spec.sessionName: Invalid value: "my cart": must be a name such as cart-session`}},
		"no time":               {policy("revocation: {notBefore: now}"), []string{`spec.revocation.notBefore: Invalid value: "now": must be an RFC 3339 time of whole seconds, such as 2026-11-21T08:00:00Z`}},
		"no session's id":       {policy("revocation: {sessions: [abc]}"), []string{`spec.revocation.sessions[0]: Invalid value: "abc": must be a session's id`}},
		"a value in lower case": {policy("cookie: {sameSite: lax}"), []string{`spec.cookie.sameSite: Unsupported value: "lax": supported values: "Strict", "Lax", "None"; did you mean Lax?`}},
		"a kind in lower case":  {document(sessionPolicy, "spec: {targetRefs: [{kind: httproute, name: r}]}"), []string{`spec.targetRefs[0].kind: Invalid value: "httproute": did you mean HTTPRoute?`}},
		"a kind of no target":   {document(sessionPolicy, "spec: {targetRefs: [{kind: Deployment, name: r}]}"), []string{"spec.targetRefs[0]: Invalid value: must be a Service or Namespace"}},
		"a number as text":      {route(`rules: [{backendRefs: [{name: s, port: "80"}]}]`), []string{`spec.rules[0].backendRefs[0].port: Invalid value: "80": must be an integer, not a string: write 80 without quotes`}},
		"a text as number":      {route("hostnames: [7]"), []string{`spec.hostnames[0]: Invalid value: 7: must be a string, not an integer: write "7" with quotes`}},
		"yes is a boolean":      {policy("sessionName: yes"), []string{`spec.sessionName: Invalid value: true: must be a string, not a boolean: write "yes" with quotes`}},
		"a number of base 8":    {policy("sessionName: 0123"), []string{`spec.sessionName: Invalid value: 83: must be a string, not an integer: write "0123" with quotes`}},
		"a number of base 16":   {route("hostnames: [a.example, 0x10]"), []string{`spec.hostnames[1]: Invalid value: 16: must be a string, not an integer: write "0x10" with quotes`}},
		"a number with a dash":  {"\napiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(policy("sessionName: 1_000"), "\n", "\n  "), []string{`write "1_000" with quotes`}},
		"a number by an alias":  {route("hostnames: [&a 1_0, *a]"), []string{`write "1_0" with quotes`, `hostnames[1]: Invalid value: 10: must be a string, not an integer: write "1_0" with quotes`}},
		"a mapping for a list":  {route("parentRefs: {name: g}"), []string{`spec.parentRefs: Invalid value: "object": must be a list, not a mapping: begin each item with a dash`}},
		"a part of a value":     {route("rules: [{matches: [{path: {type: Prefix, value: /}}]}]"), []string{`supported values: "Exact", "PathPrefix", "RegularExpression"; did you mean PathPrefix?`}},
	})
}

// TestServicesThatAreRefused holds the rules of an API server for Services, whose CRD there is none of.
func TestServicesThatAreRefused(t *testing.T) {
	ports := func(list string) string { return document(service, "spec: {ports: ["+list+"]}") }
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"one port without a name":     {ports("{port: 80}"), nil},
		"several ports with names":    {ports("{name: a, port: 80}, {name: b, port: 81}"), nil},
		"one number of two protocols": {ports("{name: a, port: 80}, {name: b, port: 80, protocol: UDP}"), nil},
		"no port":                     {document(service, "spec: {}"), []string{"spec.ports: Required value: a Service that is neither headless nor an ExternalName has one"}},
		"no port, headless":           {document(service, "spec: {clusterIP: None}"), nil},
		"several ports, no name":      {ports("{name: a, port: 80}, {port: 81}"), []string{"spec.ports[1].name: Required value: of several ports each has a name"}},
		"one name twice":              {ports("{name: a, port: 80}, {name: a, port: 81}"), []string{`spec.ports[1].name: Duplicate value: "a"`}},
		"one number twice":            {ports("{name: a, port: 80}, {name: b, port: 80}"), []string{`spec.ports[1]: Duplicate value: "TCP port 80"`}},
		"a name that is none":         {ports("{name: A, port: 80}"), []string{`spec.ports[0].name: Invalid value: "A"`}},
		"a number that is none":       {ports("{port: 70000}"), []string{"spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535"}},
		"a protocol that is none":     {ports("{port: 80, protocol: QUIC}"), []string{`spec.ports[0].protocol: Unsupported value: "QUIC": supported values: "TCP", "UDP", "SCTP"`}},
		"an affinity that is none":    {document(service, "spec: {ports: [{port: 80}], sessionAffinity: Cookie}"), []string{`spec.sessionAffinity: Unsupported value: "Cookie"`}},
		"a name outside":              {document(service, "spec: {type: ExternalName, externalName: a.org}"), nil},
	})
}

// TestEndpointSlicesThatAreRefused holds the rules of an API server for EndpointSlices.
func TestEndpointSlicesThatAreRefused(t *testing.T) {
	slice := func(addressType, ports, endpoints string) string {
		return document(endpointSlice, "addressType: "+addressType+", ports: ["+ports+"], endpoints: ["+endpoints+"]")
	}
	address := func(a string) string { return slice("IPv4", "", `{addresses: ["`+a+`"]}`) }
	many := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+", ", n), ", ") }
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"a loopback address, for demos": {address("127.0.0.1"), nil},
		"no type of addresses":          {document(endpointSlice, "endpoints: []"), []string{"addressType: Required value"}},
		"a type that is none":           {slice("IP", "", ""), []string{`addressType: Unsupported value: "IP"`}},
		"names":                         {slice("FQDN", "", "{addresses: [a.org]}"), nil},
		"no address":                    {slice("IPv4", "", "{addresses: []}"), []string{"endpoints[0].addresses: Required value: an endpoint has at least one address"}},
		"too many addresses":            {slice("IPv4", "", "{addresses: ["+many(101, "10.0.0.1")+"]}"), []string{"endpoints[0].addresses: Too many: 101: must have at most 100 items"}},
		"too many endpoints":            {slice("IPv4", "", many(1001, "{addresses: [10.0.0.1]}")), []string{"endpoints: Too many: 1001: must have at most 1000 items"}},
		"too many ports":                {slice("IPv4", many(101, "{port: 80}"), ""), []string{"ports: Too many: 101: must have at most 100 items"}},
		"no IP address":                 {address("a.org"), []string{`endpoints[0].addresses[0]: Invalid value: "a.org": must be a valid IP address`}},
		"an address with a zone":        {slice("IPv6", "", `{addresses: ["fe80::1%eth0"]}`), []string{"must be a valid IP address"}},
		"IPv4 within IPv6":              {slice("IPv6", "", `{addresses: ["::ffff:10.0.0.1"]}`), []string{"must be a valid IP address"}},
		"IPv6 among IPv4":               {address("fd00::1"), []string{"must be an IPv4 address"}},
		"IPv4 among IPv6":               {slice("IPv6", "", "{addresses: [10.0.0.1]}"), []string{"must be an IPv6 address"}},
		"every address":                 {address("0.0.0.0"), []string{"must not be unspecified, multicast or link-local"}},
		"multicast":                     {address("224.0.0.1"), []string{"must not be unspecified, multicast or link-local"}},
		"broadcast":                     {address("255.255.255.255"), []string{"must not be the broadcast address"}},
		"a metadata service":            {address("100.100.100.200"), []string{"must not be that of a cloud's metadata service"}},
		"another one":                   {address("168.63.129.16"), []string{"must not be that of a cloud's metadata service"}},
		"one of IPv6":                   {slice("IPv6", "", `{addresses: ["fd20:ce::254"]}`), []string{"must not be that of a cloud's metadata service"}},
		"one that is translated":        {slice("IPv6", "", `{addresses: ["64:ff9b::a83f:8110"]}`), []string{"must not be that of a cloud's metadata service"}},
		"link-local, translated":        {slice("IPv6", "", `{addresses: ["64:ff9b::a9fe:a9fe"]}`), []string{"must not be unspecified, multicast or link-local"}},
		"private, translated":           {slice("IPv6", "", `{addresses: ["64:ff9b::10.0.0.1"]}`), []string{"must not stand for a private IPv4 address"}},
		"another that is translated":    {slice("IPv6", "", `{addresses: ["64:ff9b::808:808"]}`), nil},
		"link-local":                    {address("169.254.0.1"), []string{"must not be unspecified, multicast or link-local"}},
		"one port's name twice":         {slice("IPv4", "{port: 80}, {port: 81}", ""), []string{`ports[1].name: Duplicate value: ""`}},
		"a port that is none":           {slice("IPv4", "{port: 0}", ""), []string{"ports[0].port: Invalid value: 0"}},
		"no number: every port":         {slice("IPv4", "{name: a}", ""), nil},
	})
}

// TestSecretsThatAreRefused holds the rules of an API server for Secrets of the type for TLS. No error shows a value.
func TestSecretsThatAreRefused(t *testing.T) {
	tls := func(fields string) string { return document(secret, "type: kubernetes.io/tls, "+fields) }
	large := strings.Repeat("SECRET", 200_000)
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"both parts":           {tls("data: {tls.crt: U0VDUkVU, tls.key: U0VDUkVU}"), nil},
		"both parts as text":   {tls("stringData: {tls.crt: SECRET, tls.key: SECRET}"), nil},
		"another type":         {document(secret, "type: Opaque, data: {password: SECRET}"), nil},
		"no part":              {tls("data: {}"), []string{"data[tls.crt]: Required value", "data[tls.key]: Required value"}},
		"no key":               {tls("data: {tls.crt: U0VDUkVU}"), []string{"data[tls.key]: Required value: a Secret of the type kubernetes.io/tls has it"}},
		"no base64":            {tls("data: {tls.crt: SECRET!, tls.key: U0VDUkVU}"), []string{"data[tls.crt]: Invalid value: must be base64, which the value is not"}},
		"a name that is none":  {tls(`stringData: {"a b": SECRET, tls.crt: a, tls.key: b}`), []string{`stringData: Invalid value: "a b"`}},
		"a number for a value": {tls("data: {tls.crt: 7, tls.key: U0VDUkVU}"), []string{"data: Invalid value: must be of type string, not number"}},
		"too large":            {tls("stringData: {tls.crt: " + large + ", tls.key: b}"), []string{"data: Invalid value: must be at most 1048576 bytes"}},
	})
	for _, text := range []string{tls("data: {tls.crt: SECRET!, tls.key: SECRET!}"), tls("stringData: {tls.crt: SECRET}"), tls("data: [SECRET]"), tls("data: {tls.crt: [SECRET]}")} {
		_, rep := compilertest.TryAdmit(t, resource.Options{}, text)
		if problems := rep.Errors(false); len(problems) == 0 || strings.Contains(problems.Error(), "SECRET") {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// TestTextIsStrongerThanData reads a Secret's parts as an API server does, and forgets everything else.
func TestTextIsStrongerThanData(t *testing.T) {
	o := compilertest.Admit(t, document(secret, "type: kubernetes.io/tls, data: {tls.crt: b2xk, tls.key: a2V5, other: b2xk}, stringData: {tls.crt: new}")).Secrets[0]
	chain, key := o.Value.Certificate()
	if string(chain) != "new" || string(key) != "key" || o.Value.Data != nil || o.Value.StringData != nil {
		t.Errorf("got %q and %q, and %+v is kept", chain, key, o.Value)
	}
	other := compilertest.Admit(t, document(secret, "type: Opaque, stringData: {tls.crt: new, tls.key: key}")).Secrets[0]
	if chain, key := other.Value.Certificate(); chain != nil || key != nil || other.Value.StringData != nil {
		t.Errorf("of another type: %q and %q", chain, key)
	}
}

// TestOneNameTwice refuses the second document of a name, and says where the first is.
func TestOneNameTwice(t *testing.T) {
	for name, c := range map[string]struct {
		second string
		want   []string
	}{
		"the same":             {document(service, "spec: {ports: [{port: 81}]}"), []string{`Service default/x: metadata.name: Duplicate value: "x": the first object of this name is at in.yaml:1`}},
		"with its namespace":   {strings.Replace(document(service, "spec: {ports: [{port: 81}]}"), "name: x", "name: x, namespace: default", 1), []string{"Duplicate value"}},
		"in another namespace": {strings.Replace(document(service, "spec: {ports: [{port: 81}]}"), "name: x", "name: x, namespace: other", 1), nil},
		"of another kind":      {document(secret, "type: Opaque"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects, rep := compilertest.TryAdmit(t, resource.Options{}, document(service, "spec: {ports: [{port: 80}]}"), c.second)
			compilertest.CheckProblems(t, rep.Errors(false), c.want...)
			if objects.Services[0].Value.Spec.Ports[0].Port != 80 {
				t.Error("the second one is kept")
			}
		})
	}
}

// TestDefaultsAreFilledIn holds what an API server would have added.
func TestDefaultsAreFilledIn(t *testing.T) {
	o := compilertest.Admit(t,
		document(service, "spec: {ports: [{port: 80}]}"), document(endpointSlice, "addressType: IPv4, ports: [{port: 80}]"),
		document(gatewayClass, "spec: {controllerName: a.b/c}"), document(httpRoute, "spec: {rules: [{matches: [{method: GET}], backendRefs: [{name: a, port: 80}]}]}"))
	if p := o.Services[0].Value.Spec.Ports[0].Protocol; p != "TCP" {
		t.Errorf("the Service's protocol is %q", p)
	}
	if p := o.Slices[0].Value.Ports[0]; *p.Name != "" || *p.Protocol != "TCP" {
		t.Errorf("the slice's port is %v", p)
	}
	rule := o.Routes[0].Value.Spec.Rules[0]
	if *rule.BackendRefs[0].Weight != 1 || *rule.Matches[0].Path.Value != "/" {
		t.Errorf("the route's rule is %v", rule)
	}
	if o.Services[0].Key() != "default/x" || o.Classes[0].Namespace != "" || o.Classes[0].Origin().String() != "GatewayClass x" {
		t.Errorf("got %s and %s", o.Services[0].Key(), o.Classes[0].Origin())
	}
}

// TestObjectsInOrder has the older first, then by namespace and name, one without a time last.
func TestObjectsInOrder(t *testing.T) {
	named := func(metadata string) string {
		return strings.Replace(document(service, "spec: {ports: [{port: 80}]}"), "name: x", metadata, 1)
	}
	objects := compilertest.Admit(t,
		named("name: a"), named("name: c, namespace: alpha"), named(`name: b, creationTimestamp: "2026-01-02T00:00:00Z"`), named(`name: z, creationTimestamp: "2026-01-01T00:00:00Z"`))
	var got []string
	for _, s := range objects.Services {
		got = append(got, s.Key())
	}
	if text := strings.Join(got, " "); text != "default/z default/b alpha/c default/a" {
		t.Errorf("got %s", text)
	}
}

// TestControlPlanes holds what is not limpet's to refuse where a control plane serves the objects.
func TestControlPlanes(t *testing.T) {
	tcp := document(gateway, "spec: {gatewayClassName: c, listeners: [{name: a, port: 80, protocol: TCP}]}")
	own := schema.GroupVersionKind{Group: "gateway.envoyproxy.io", Version: "v1alpha1", Kind: "EnvoyProxy"}
	proxy := document("gateway.envoyproxy.io/v1alpha1/EnvoyProxy", "spec: {anything: [at, all]}")
	outside := resource.Options{ExternalControlPlane: true}
	for name, c := range map[string]struct {
		options resource.Options
		refusal
	}{
		"a field that limpet does not carry": {outside, refusal{tcp, nil}},
		"an unknown field all the same":      {outside, refusal{document(gatewayClass, "spec: {controllerName: a.b/c, color: red}"), []string{"spec.color: unknown field"}}},
		"the control plane's own kind":       {resource.Options{ExternalControlPlane: true, PlatformKinds: []schema.GroupVersionKind{own}}, refusal{proxy, nil}},
		"an own kind whose name is none":     {resource.Options{ExternalControlPlane: true, PlatformKinds: []schema.GroupVersionKind{own}}, refusal{strings.Replace(proxy, "name: x", "name: a b", 1), []string{"metadata.name: Invalid value"}}},
		"the kind of another control plane":  {outside, refusal{proxy, []string{"kind: EnvoyProxy of gateway.envoyproxy.io/v1alpha1 is no kind that limpet reads"}}},
		"a kind of Istio's":                  {resource.Options{ExternalControlPlane: true, Istio: true}, refusal{document(serviceEntry, "spec: {hosts: [a.org], location: MESH_EXTERNAL}"), nil}},
		"a field of Istio's of another type": {resource.Options{ExternalControlPlane: true, Istio: true}, refusal{document(serviceEntry, "spec: {hosts: a.org}"), []string{"spec.hosts: Invalid value: \"a.org\": must be a list, not a string"}}},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, c.options, c.refusal)
		})
	}
}

// TestAssumeAdmitted holds what the compiler relies on and so checks, where an API server is said to have
// admitted the documents, and what it then leaves alone.
func TestAssumeAdmitted(t *testing.T) {
	weights := func(kind, weight string) string {
		return document(kind, "spec: {rules: [{backendRefs: [{name: a, port: 80, weight: "+weight+"}]}]}")
	}
	budget := func(text string) string {
		return document(trafficPolicy, `spec: {targetRefs: [{group: "", kind: Service, name: a}], retryConstraint: {`+text+"}}")
	}
	checkRefusals(t, resource.Options{AssumeAdmitted: true}, map[string]refusal{
		"what a CRD would refuse":      {document(gatewayClass, "spec: {controllerName: none}"), nil},
		"no name":                      {strings.Replace(document(gatewayClass, "spec: {controllerName: none}"), "name: x", "labels: {}", 1), []string{"metadata.name: Required value: every object has a name"}},
		"a name that is none":          {strings.Replace(document(gatewayClass, "spec: {controllerName: none}"), "name: x", "name: a/b", 1), []string{`metadata.name: Invalid value: "a/b"`}},
		"a namespace that is none":     {strings.Replace(weights(httpRoute, "1"), "name: x", "name: x, namespace: a.b", 1), []string{`metadata.namespace: Invalid value: "a.b"`}},
		"an unknown field":             {document(gatewayClass, "spec: {controllerName: none, color: red}"), []string{"spec.color: unknown field"}},
		"a listener's port":            {document(gateway, "spec: {gatewayClassName: c, listeners: [{name: a, port: 70000, protocol: HTTP}]}"), []string{"spec.listeners[0].port: Invalid value: 70000: must be between 1 and 65535"}},
		"an HTTPRoute's weight":        {weights(httpRoute, "-1"), []string{"spec.rules[0].backendRefs[0].weight: Invalid value: -1: must be between 0 and 1000000"}},
		"a GRPCRoute's weight":         {weights(grpcRoute, "1000001"), []string{"spec.rules[0].backendRefs[0].weight: Invalid value: 1000001"}},
		"a status to retry":            {document(httpRoute, "spec: {rules: [{retry: {codes: [500, 200], attempts: -1, backoff: 1s}}]}"), []string{"spec.rules[0].retry.attempts: Invalid value: -1: must be 0 at least", "spec.rules[0].retry.codes[1]: Invalid value: 200: must be between 400 and 599"}},
		"timeouts":                     {document(httpRoute, "spec: {rules: [{timeouts: {request: soon, backendRequest: -1s}}]}"), []string{`spec.rules[0].timeouts.backendRequest: Invalid value: "-1s": must be a duration`, `spec.rules[0].timeouts.request: Invalid value: "soon"`}},
		"an XBackend's port":           {document(xbackend, "spec: {type: EndpointSelector, port: {number: 70000}}"), []string{"spec.port.number: Invalid value: 70000: must be between 0 and 65535"}},
		"a share of retries":           {budget("budget: {percent: 101, interval: 2h}"), []string{"spec.retryConstraint.budget.interval: Invalid value: \"2h\": must be a duration of one hour at most", "spec.retryConstraint.budget.percent: Invalid value: 101: must be between 0 and 100"}},
		"a number of retries":          {budget("minRetryRate: {count: 0, interval: 0s}"), []string{"spec.retryConstraint.minRetryRate.count: Invalid value: 0: must be between 1 and 1000000", `spec.retryConstraint.minRetryRate.interval: Invalid value: "0s"`}},
		"a retry budget":               {budget("budget: {percent: 20}"), nil},
		"built-in kinds as ever":       {document(service, "spec: {}"), []string{"spec.ports: Required value"}},
		"the rules of Contour as ever": {document(httpProxy, "spec: {virtualhost: {fqdn: a.org}, routes: [{services: []}]}"), []string{"spec.routes[0].services: Required value"}},
	})
	objects, _ := compilertest.TryAdmit(t, resource.Options{AssumeAdmitted: true}, weights(httpRoute, "null"))
	if w := objects.Routes[0].Value.Spec.Rules[0].BackendRefs[0].Weight; w == nil || *w != 1 {
		t.Errorf("the default of a weight is %v", w)
	}
}

// reportOf is what is said of documents.
func reportOf(t *testing.T, o resource.Options, documents ...string) *report.Report {
	t.Helper()
	_, rep := compilertest.TryAdmit(t, o, documents...)
	return rep
}

// TestFaultsAreLocal holds that what limpet lacks in a part of a route or Gateway is noted there, and refuses nothing.
func TestFaultsAreLocal(t *testing.T) {
	objects, rep := compilertest.TryAdmit(t, resource.Options{},
		document(httpRoute, "spec: {useDefaultGateways: All, rules: [{}, {filters: [{type: ExtensionRef, extensionRef: {group: a.b, kind: C, name: d}}]}]}"),
		document(gateway, "spec: {gatewayClassName: c, addresses: [{type: a.b/c, value: x}], listeners: [{name: a, port: 80, protocol: SCTP}]}"))
	compilertest.CheckProblems(t, rep.Errors(false))
	route, gw := objects.Routes[0], objects.Gateways[0]
	if got := route.FaultsOf(report.Rules, 1); len(got) == 0 || !strings.HasPrefix(got[0].Path, "spec.rules[1].filters") {
		t.Errorf("faults of the rule: %v", got)
	}
	if got := fmt.Sprint(route.FaultsOf(report.Rules, 0), route.FaultsOutside(report.Rules)); got != "[] [{spec.useDefaultGateways not supported: \"All\"}]" {
		t.Errorf("other faults: %s", got)
	}
	if got := fmt.Sprint(gw.FaultsOf(report.Listeners, 0), gw.FaultsOutside(report.Listeners)); got != `[{spec.listeners[0].protocol not supported: "SCTP"}] [{spec.addresses[0].type not supported: "a.b/c"}]` {
		t.Errorf("faults of the Gateway: %s", got)
	}
}
