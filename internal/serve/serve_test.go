package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
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
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

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

// newController makes one of the two Gateways of the controller's own tests, with a ring of keys.
func newController(t *testing.T) (*controller.Controller, policyconfig.Keys) {
	t.Helper()
	text, err := os.ReadFile("../controller/testdata/gateways.yaml")
	if err != nil {
		t.Fatal(err)
	}
	chain, key := newCertificate(t)
	inline := func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }
	source := compiler.Source{Name: "a.yaml", Data: []byte(strings.NewReplacer("CERT", inline(chain), "KEY", inline(key)).Replace(string(text)))}
	ring := keyfile.NewRing("k")
	in := controller.Input{Keys: policyconfig.Keys{Ring: &ring}, Sources: read.NewList(source)}
	if in.Fingerprints, err = keyfile.FingerprintsOf(ring); err != nil {
		t.Fatal(err)
	}
	return &controller.Controller{
		Server: xds.NewServer(xds.Options{Deadline: time.Second}), Memory: memory.New(), Stderr: io.Discard,
		Read: func(io.Writer) (controller.Input, error) { return in, nil },
		Options: func(in controller.Input) compiler.Options {
			return compiler.Options{Keys: in.Keys, Envoy: &compiler.EnvoyOptions{ModulePath: "/limpet.wasm", Admin: compiler.NoAdmin}}
		},
	}, in.Keys
}

// TestAdmin holds what the pages for people on this machine say, that they show no key, and whom they answer.
func TestAdmin(t *testing.T) {
	c, keys := newController(t)
	if _, err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ready, registry := false, prometheus.NewRegistry()
	refused := func() InputStatus { return InputStatus{Refused: []string{"b.yaml: no good"}} }
	ended := func() []EndedStatus {
		return []EndedStatus{{Route: "HTTPRoute shop/cart", Words: "the sessions of a rule ended"}}
	}
	input := Input{refused, ended, c.Fingerprints, func() any { return c.Known() }}
	RegisterInput(registry, input)
	handler := Admin(c.Server, input, Probes(registry, func() bool { return ready }))
	key := token.Key{ID: "k", Secret: keys.Ring.Keys[0].Secret}
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
		{"/status", here, "", 200, `"ended":[{"route":"HTTPRoute shop/cart","at":`},
		{"/status", "[::1]:18001", "", 200, "default/two"},
		{"/status", "rebound.example:18001", "", 403, ""},
		{"/status", here, "Origin: https://elsewhere.example", 403, ""},
		{"/debug/pprof/profile", here, "Sec-Fetch-Site: cross-site", 403, ""},
		{"/debug/pprof/", here, "Sec-Fetch-Site: same-origin", 200, "goroutine"},
		{"/debug/pprof/", here, "Sec-Fetch-Site: none", 200, "goroutine"},
		{"/status", here, "", 200, `"keys":[{"id":"k","fingerprint":"` + key.Fingerprint().String() + `"}]`},
		{"/metrics", here, "", 200, fmt.Sprintf("\nlimpet_keys_fingerprint %v\n", float64(c.Fingerprints().Gauge))},
		{"/debug/pprof/", here, "", 200, "goroutine"},
		{"/config?gateway=default/one", here, "", 200, "CART"},
		{"/config?gateway=default/one", here, "", 200, "BEGIN CERTIFICATE"},
		{"/config?gateway=default/one", here, "", 200, `"keys":"[masked]"`},
		{"/reading", here, "", 200, `"holders":{`},
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

		"there is no such Gateway": {Gateway: "default/onne"},
	} {
		s.Envoys = []xds.ClientStatus{e}
		if got := s.State(e); got != want || (Statuses{s}).IsComplete() != (want == "current") {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

// TestExplainRejection: of a plugin that can't be loaded Envoy's log says more than its answer, and where that is, is said.
func TestExplainRejection(t *testing.T) {
	for words, more := range map[string]bool{"Unable to create Wasm plugin limpet": true, "no such cluster": false} {
		got := ExplainRejection(xds.Rejection{Words: words})
		if !strings.HasPrefix(got, words) || strings.Contains(got, "LIMPET_KEYS") != more {
			t.Errorf("%s: %s", words, got)
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
