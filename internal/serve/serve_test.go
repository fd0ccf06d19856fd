package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// documents are two Gateways with one port, a route to the first over TLS, and one to the second.
const documents = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: one, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: web, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: shown}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: two, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: web, protocol: HTTP, port: 443}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: default}
spec:
  parentRefs: [{name: one}]
  rules: [{backendRefs: [{name: cart, port: 80}], sessionPersistence: {sessionName: CART}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: search, namespace: default}
spec:
  parentRefs: [{name: two}]
  rules: [{backendRefs: [{name: search, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: search, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: shown, namespace: default}
type: kubernetes.io/tls
stringData:
  tls.crt: "CERT"
  tls.key: "KEY"
`

// newCertificate makes a certificate and its key in PEM.
func newCertificate(t *testing.T) (chain, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost"},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

func withCertificate(t *testing.T, text string) string {
	t.Helper()
	chain, key := newCertificate(t)
	inline := func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }
	return strings.NewReplacer("CERT", inline(chain), "KEY", inline(key)).Replace(text)
}

// newOutput makes an output with a ring of keys of its own.
func newOutput(t *testing.T) (*Output, policyconfig.Keys) {
	t.Helper()
	ring := keyfile.NewRing("k")
	return &Output{
		Server: xds.NewServer(xds.Options{Deadline: time.Second}), Memory: memory.New(),
		Options: func(in livereload.Inputs) compiler.Options {
			return compiler.Options{Keys: in.Keys, Envoy: &compiler.EnvoyOptions{ModulePath: "/limpet.wasm", Admin: compiler.NoAdmin}}
		},
	}, policyconfig.Keys{Ring: &ring}
}

func apply(t *testing.T, o *Output, keys policyconfig.Keys, text string) string {
	t.Helper()
	result, err := o.Compile(livereload.Inputs{Keys: keys, Sources: []compiler.Source{{Name: "a.yaml", Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	said, err := o.Apply(t.Context(), time.Now(), result)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func names(s *xds.Snapshot, t xds.Type) string {
	var all []string
	for _, r := range s.Resources(t) {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

// TestOutput holds that each Gateway's proxies are served what belongs to it, on ports of its own, and nothing of others;
// that what has not changed keeps its versions; and that a Gateway which goes leaves nothing behind.
func TestOutput(t *testing.T) {
	o, keys := newOutput(t)
	text := withCertificate(t, documents)
	if said := apply(t, o, keys, text); !strings.HasSuffix(said, "2 of 2 Gateways have changed") {
		t.Error(said)
	}
	one, two := o.Server.Latest("default/one"), o.Server.Latest("default/two")
	for _, c := range []struct {
		snapshot *xds.Snapshot
		t        xds.Type
		want     string
	}{
		{one, xds.Listener, "listener/0.0.0.0/443"},
		{one, xds.Routes, "listener/0.0.0.0/443/*"},
		{one, xds.Cluster, "service/default/cart/80"},
		{one, xds.Endpoint, "service/default/cart/80"},
		{one, xds.Secret, "certificate/default/shown"},
		{one, xds.Filter, "limpet"},
		{two, xds.Listener, "listener/0.0.0.0/443"},
		{two, xds.Routes, "listener/0.0.0.0/443"},
		{two, xds.Cluster, "service/default/search/80"},
		{two, xds.Secret, ""},
	} {
		if got := names(c.snapshot, c.t); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v are %q, want %q", c.t, got, c.want)
		}
	}
	if !strings.Contains(one.Resources(xds.Routes)[0].Body.String(), "CART") {
		t.Error("the session policies of a Gateway are not in its routes")
	}
	if body := two.Resources(xds.Routes)[0].Body.String(); strings.Contains(body, "CART") {
		t.Error("a Gateway's proxies get another's session policies")
	}
	said := apply(t, o, keys, strings.Replace(text, "sessionName: CART", "sessionName: BASKET", 1))
	if !strings.HasSuffix(said, "1 of 2 Gateways have changed") || o.Server.Latest("default/two") != two {
		t.Error(said)
	}
	if next := o.Server.Latest("default/one"); next.Resources(xds.Listener)[0].Version != one.Resources(xds.Listener)[0].Version {
		t.Error("another policy is another listener")
	}
	apply(t, o, keys, strings.Replace(text, "name: two, namespace: default", "name: three, namespace: default", 1))
	if left := names(o.Server.Latest("default/two"), xds.Listener); left != "" {
		t.Errorf("a Gateway that is gone leaves %q", left)
	}
}

// TestIncumbentsOfServe: a session keeps its name when an older route comes to want it, for as long as limpet serves.
//
// requirements: S28, S75
func TestIncumbentsOfServe(t *testing.T) {
	const thief = "\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n" +
		"metadata: {name: thief, namespace: default, creationTimestamp: \"1990-01-01T00:00:00Z\"}\n" +
		"spec: {parentRefs: [{name: one}], rules: [{matches: [{headers: [{name: x, value: v}]}], backendRefs: [{name: search, port: 80}], " +
		"sessionPersistence: {sessionName: CART}}]}\n"
	for name, before := range map[string]bool{"the older route first": false, "the older route later": true} {
		o, keys := newOutput(t)
		text := withCertificate(t, documents)
		if before {
			apply(t, o, keys, text)
		}
		apply(t, o, keys, text+thief)
		body := o.Server.Latest("default/one").Resources(xds.Routes)[0].Body.String()
		if kept := strings.Contains(body, `cart/matches/75ff6852f9ba93fd\",\"sessionName\":\"CART\"`); kept != before {
			t.Errorf("%s: the session keeps its name: %t\n%s", name, kept, body)
		}
	}
}

// TestPoliciesTravel holds that another route's session policies are another route table, and leave the filter as it is.
func TestPoliciesTravel(t *testing.T) {
	o, keys := newOutput(t)
	text := withCertificate(t, documents)
	var filters, routes []string
	for _, name := range []string{"cart", "basket"} {
		apply(t, o, keys, strings.Replace(text, "kind: HTTPRoute\nmetadata: {name: cart", "kind: HTTPRoute\nmetadata: {name: "+name, 1))
		served := o.Server.Latest("default/one")
		filters = append(filters, served.Resources(xds.Filter)[0].Version)
		versions := ""
		for _, r := range served.Resources(xds.Routes) {
			versions += r.Version
		}
		routes = append(routes, versions)
	}
	if filters[0] != filters[1] || routes[0] == routes[1] {
		t.Errorf("the filter has the versions %q, and the routes %q", filters, routes)
	}
}

// TestAdmin holds what the pages for people on this machine say, that they show no key, and whom they answer.
func TestAdmin(t *testing.T) {
	o, keys := newOutput(t)
	text := withCertificate(t, documents)
	apply(t, o, keys, text)
	ready := false
	handler := Admin(o.Server, Probes(prometheus.NewRegistry(), func() bool { return ready }))
	get := func(path, host, header string) (int, string) {
		request := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
		if name, value, has := strings.Cut(header, ": "); has {
			request.Header.Set(name, value)
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		return recorder.Code, recorder.Body.String()
	}
	const here = "127.0.0.1:18001"
	for _, c := range []struct {
		path, host, header string
		status             int
		has                string
	}{
		{"/healthz", here, "", 200, "ok"},
		{"/readyz", here, "", 503, "not ready"},
		{"/status", here, "", 200, `"gateway":"default/one"`},
		{"/status", "localhost:18001", "", 200, "default/two"},
		{"/status", "[::1]:18001", "", 200, "default/two"},
		{"/status", "rebound.example:18001", "", 403, ""},
		{"/status", here, "Origin: https://elsewhere.example", 403, ""},
		{"/debug/pprof/profile", here, "Sec-Fetch-Site: cross-site", 403, ""},
		{"/debug/pprof/", here, "Sec-Fetch-Site: same-origin", 200, "goroutine"},
		{"/debug/pprof/", here, "Sec-Fetch-Site: none", 200, "goroutine"},
		{"/metrics", here, "", 200, ""},
		{"/debug/pprof/", here, "", 200, "goroutine"},
		{"/config?gateway=default/one", here, "", 200, "CART"},
		{"/config?gateway=default/one", here, "", 200, "BEGIN CERTIFICATE"},
		{"/config?gateway=default/one", here, "", 200, `"keys":"[masked]"`},
		{"/config?gateway=default/none", here, "", 404, "no such Gateway"},
	} {
		status, body := get(c.path, c.host, c.header)
		if status != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s at %s with %q: %d, %.300s; want %d, %s", c.path, c.host, c.header, status, body, c.status, c.has)
		}
		secret, err := json.Marshal(keys.Ring.Keys[0].Secret)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(body, "PRIVATE KEY") || strings.Contains(body, strings.Trim(string(secret), `"`)) {
			t.Errorf("%s shows a key", c.path)
		}
	}
	ready = true
	if status, _ := get("/readyz", here, ""); status != 200 {
		t.Errorf("ready is %d", status)
	}
}

// TestLoadTLS holds that a server's certificates follow their files, and that broken ones change nothing.
func TestLoadTLS(t *testing.T) {
	folder := t.TempDir()
	files := TLSFiles{filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"), filepath.Join(folder, "ca.crt")}
	write := func(chain, key, authority string) {
		for path, text := range map[string]string{files.Certificate: chain, files.Key: key, files.ClientCA: authority} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	warnings := 0
	if _, err := LoadTLS(files, false, nil); err == nil {
		t.Error("files that are not there are taken")
	}
	chain, key := newCertificate(t)
	write(chain, key, chain)
	config, err := LoadTLS(files, false, func(error) { warnings++ })
	if err != nil {
		t.Fatal(err)
	}
	follower := &tlsFollower{files: files, warn: func(error) { warnings++ }}
	first := follower.get(time.Now())
	if first.ClientAuth != tls.RequireAndVerifyClientCert || first.MinVersion != tls.VersionTLS13 || config.MinVersion != tls.VersionTLS13 {
		t.Error("clients need no certificate, or old protocols will do")
	}
	other, otherKey := newCertificate(t)
	write(other, otherKey, other)
	if follower.get(time.Now()) != first {
		t.Error("files are looked at again at once")
	}
	second := follower.get(time.Now().Add(2 * recheck))
	if second == first || string(second.Certificates[0].Certificate[0]) == string(first.Certificates[0].Certificate[0]) {
		t.Error("new files are not taken")
	}
	write(other, "broken", other)
	if follower.get(time.Now().Add(4*recheck)) != second || warnings != 1 {
		t.Errorf("broken files change something, with %d warnings", warnings)
	}
	write(other, otherKey, "no certificate")
	if follower.get(time.Now().Add(6*recheck)) != second || warnings != 2 {
		t.Errorf("an empty authority changes something, with %d warnings", warnings)
	}
}

// TestState holds what is said of an Envoy.
func TestState(t *testing.T) {
	s := Status{Gateways: []GatewayStatus{{"default/one", "g2"}}}
	for want, e := range map[string]xds.ClientStatus{
		"current":         {Gateway: "default/one", Generation: "g2"},
		"in progress":     {Gateway: "default/one", Generation: "g1"},
		"late: no answer": {Gateway: "default/one", Generation: "g2", Late: "no answer"},
		"rejected":        {Gateway: "default/one", Generation: "g2", Rejected: []xds.Rejection{{}}},
	} {
		s.Envoys = []xds.ClientStatus{e}
		if got := s.State(e); got != want || s.IsSettled() != (want == "current") {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

// TestLines holds how lines for people become records.
func TestLines(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	if _, err := (Lines{log}).Write([]byte("limpet: change 1 served\nwarning: a.yaml:1: w\nerror: e\n")); err != nil {
		t.Fatal(err)
	}
	const want = "level=INFO msg=\"change 1 served\"\nlevel=WARN msg=\"a.yaml:1: w\"\nlevel=ERROR msg=e\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
