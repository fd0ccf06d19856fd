package compiler

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// BenchmarkCompile compiles many routes; the time for one should not grow with their number.
func BenchmarkCompile(b *testing.B) {
	for _, routes := range []int{1000, 3000, 10_000} {
		b.Run(fmt.Sprint(routes), func(b *testing.B) {
			sources := scaletest.MakeRoutes(routes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w"}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(routes), "µs/route")
		})
	}
}

// edited are changes of one object of many, to and fro.
var edited = []struct{ name, from, to string }{
	{"policy", "absoluteTimeout: 8h", "absoluteTimeout: 9h"},
	{"endpoint", "- addresses: [10.0.0.2]", "- addresses: [10.0.0.3]"},
	{"service", "kind: Service\nmetadata:\n  name: app-%d\n", "kind: Service\nmetadata:\n  labels: {a: b}\n  name: app-%[1]d\n"},
	{"route", "value: /cart", "value: /shop"},
	{"removed", "kind: SessionPersistencePolicy\nmetadata:\n  name: app-%d\n", ""},
}

// removeDocument gives a file without the document that holds a text.
func removeDocument(data []byte, text string) []byte {
	docs := strings.SplitAfter(string(data), "---\n")
	return []byte(strings.Join(slices.DeleteFunc(docs, func(d string) bool { return strings.Contains(d, text) }), ""))
}

// BenchmarkFollow changes one object of many, to and fro, with a follower: each object in a source of its own, as a controller
// has them, or 500 routes in a file with all that belongs to them. What is measured is the changed parts; "whole" also puts the
// whole configuration together.
func BenchmarkFollow(b *testing.B) {
	for _, routes := range []int{1000, 10_000, 30_000} {
		for _, form := range []string{"objects", "files", "whole"} {
			b.Run(fmt.Sprintf("%d/%s", routes, form), func(b *testing.B) {
				certificate := issueCertificate(b)
				f, sources := startFollower(b, scaletest.MakeRoutes(routes), form != "files", certificate)
				changes := append(slices.Clone(edited), struct{ name, from, to string }{"secret", certificate, issueCertificate(b)})
				for _, change := range changes {
					b.Run(change.name, func(b *testing.B) {
						applyToAndFro(b, f, changeLast(b, sources, routes, change.from, change.to), form == "whole")
					})
				}
			})
		}
	}
}

// BenchmarkFollowEndpoint changes an endpoint of one of many routes, where all have one host, and so are one group, or each has its own.
func BenchmarkFollowEndpoint(b *testing.B) {
	for _, routes := range []int{1000, 3000, 10_000} {
		for name, makeSources := range map[string]func(int) []Source{"one host": scaletest.MakeRoutesOfOneHost, "hosts": scaletest.MakeRoutes} {
			b.Run(fmt.Sprintf("%d/%s", routes, name), func(b *testing.B) {
				f, sources := startFollower(b, makeSources(routes), true, issueCertificate(b))
				changes := changeLast(b, sources, routes, edited[1].from, edited[1].to)
				best := time.Hour
				for i := 0; b.Loop(); i++ {
					begin := time.Now()
					u, err := f.Apply(changes[i%2])
					if err == nil {
						_, err = u.Configuration()
					}
					if err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(begin))
				}
				b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
			})
		}
	}
}

// secureGateway is a listener for TLS with a certificate, besides the one of all routes.
const secureGateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: secure}
spec: {gatewayClassName: limpet, listeners: [{name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: cert}]}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: cert}
type: kubernetes.io/tls
stringData: %s
`

// issueCertificate makes a certificate and its key, as the data of a Secret.
func issueCertificate(b *testing.B) string {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprintf("{tls.crt: %q, tls.key: %q}", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// startFollower gives a follower that has seen many routes, and their sources.
func startFollower(b *testing.B, sources []Source, each bool, certificate string) (*Follower, []Source) {
	b.Helper()
	sources = append(sources, Source{Name: "secure.yaml", Data: fmt.Appendf(nil, secureGateway, certificate)})
	if each {
		var objects []Source
		for _, s := range sources {
			for i, text := range strings.Split(string(s.Data), "---\n") {
				if strings.TrimSpace(text) != "" {
					objects = append(objects, Source{Name: fmt.Sprintf("%s/%d", s.Name, i), Data: []byte(text)})
				}
			}
		}
		sources = objects
	}
	f, err := NewFollower(Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}})
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	if _, err := f.Apply(Changes{Set: sources}); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d sources: %v to begin with", len(sources), time.Since(begin).Round(time.Millisecond))
	return f, sources
}

// changeLast gives the changes to and fro of the last source that has a text.
func changeLast(b *testing.B, sources []Source, routes int, from, to string) [2]Changes {
	b.Helper()
	if strings.Contains(from, "%d") {
		from, to = fmt.Sprintf(from, routes-1), strings.ReplaceAll(to, "%[1]d", fmt.Sprint(routes-1))
	}
	for i := len(sources) - 1; i >= 0; i-- {
		text := string(sources[i].Data)
		if !strings.Contains(text, from) {
			continue
		}
		back := Changes{Set: sources[i : i+1]}
		switch {
		case to != "":
			return [2]Changes{{Set: []Source{{Name: sources[i].Name, Data: []byte(strings.Replace(text, from, to, 1))}}}, back}
		case strings.Contains(text, "---\n"):
			return [2]Changes{{Set: []Source{{Name: sources[i].Name, Data: removeDocument(sources[i].Data, from)}}}, back}
		default:
			return [2]Changes{{Removed: []string{sources[i].Name}}, back}
		}
	}
	b.Fatal("nothing changes")
	return [2]Changes{}
}

func applyToAndFro(b *testing.B, f *Follower, changes [2]Changes, whole bool) {
	b.Helper()
	best, n := time.Hour, 0
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		u, err := f.Apply(changes[i%2])
		if err == nil && whole {
			_, err = u.Result()
		}
		if err != nil {
			b.Fatal(err)
		}
		best, n = min(best, time.Since(begin)), i
	}
	if n%2 == 0 {
		if _, err := f.Apply(changes[1]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
}

// BenchmarkScopesRotate gives proxies the keys of another ring for 10,000 routes, each with a session of its own, and changes one of these
// while the ring stays.
func BenchmarkScopesRotate(b *testing.B) {
	const routes = 10_000
	sources := scaletest.MakeRoutes(routes)
	f, err := NewFollower(Options{Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}})
	if err != nil {
		b.Fatal(err)
	}
	keys := [2]*ScopeKeys{newScopeKeys(b, "one", "two"), newScopeKeys(b, "two", "three")}
	follow := func(b *testing.B, scopes *ScopeKeys) (size int) {
		update, err := f.Replace(sources, Changes{Scopes: scopes})
		if err != nil {
			b.Fatal(err)
		}
		result, err := update.Configuration()
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range result.Served {
			for _, packed := range d.Routes {
				size += len(packed.Content)
			}
		}
		return size
	}
	without, size := follow(b, nil), 0
	for name, scopes := range map[string]func(i int) *ScopeKeys{
		"ring": func(i int) *ScopeKeys { return keys[i%2] }, "route": func(int) *ScopeKeys { return keys[0] },
		"route without": func(int) *ScopeKeys { return nil },
	} {
		b.Run(name, func(b *testing.B) {
			follow(b, scopes(1))
			for i := 0; b.Loop(); i++ {
				if name != "ring" {
					from, to := edited[3].from, edited[3].to
					if i%2 == 1 {
						from, to = to, from
					}
					sources = slices.Clone(sources)
					sources[1].Data = bytes.Replace(sources[1].Data, []byte(from), []byte(to), 1)
				}
				size = follow(b, scopes(i))
			}
			b.ReportMetric(float64(size), "bytes")
			b.ReportMetric(float64(size-without)/routes, "more-bytes/route")
		})
	}
}
