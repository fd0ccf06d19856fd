package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// hostilePaths are the routes that hostile requests go to: every way in which limpet reads and writes headers.
var hostilePaths = []string{"/cart", "/strip", "/x-cart", "/x-strip"}

// twoPorts is an Envoy with a plain and a TLS listener.
type twoPorts struct {
	*harness.Envoy
	pods        []*harness.Backend
	certificate harness.Certificate
	tlsPort     int
}

// twoPortEnvoy deploys a policy for each of hostilePaths, and one that issues tokens over TLS only.
func twoPortEnvoy(t *testing.T) twoPorts {
	t.Helper()
	pods, deployment := threePods(t, append(cookieRules("cart", "strip", "tls"), headerRules("x-cart", "x-strip")...)...)
	full := func(p *policyconfig.Policy) {
		p.Forward, p.IdleTimeout, p.EndSessionHeader = false, seconds(60), "x-session-end"
		p.Cache = policyconfig.Cache{Control: policyconfig.CacheControlPrivate}
	}
	policies := editing(t, map[string]func(*policyconfig.Policy){
		"strip": full, "x-strip": full,
		"tls": func(p *policyconfig.Policy) { p.IssueOn = policyconfig.IssueOnTLS },
	})
	deployment.Policies = func(config *policyconfig.Config) {
		policies(config)
		config.AccessLog = true
	}
	certificate := harness.NewCertificate(t)
	deployment.Documents.Sites = []harness.Site{{Certificate: certificate}}
	envoy := harness.Run(t, deployment)
	return twoPorts{envoy, pods, certificate, envoy.TLSPort}
}

// TestHostileHeaders throws at limpet what HTTP lets through, over every protocol, in requests and in responses. Each
// request is answered by a backend, no answer shows the pin header, and nothing traps the module: Envoy would
// have to load it again, and counts that.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	envoy := twoPortEnvoy(t)
	wires := envoy.Wires(envoy.certificate, envoy.tlsPort)
	t.Run("allowed by HTTP", func(t *testing.T) { checkAllowed(t, envoy, wires) })
	t.Run("refused by Envoy", func(t *testing.T) { checkRefused(t, wires) })
	t.Run("from backends", func(t *testing.T) { checkHostileBackend(t, wires) })
	t.Run("clients that leave", func(t *testing.T) { checkLeaving(t, wires) })
	for _, wire := range wires {
		checkGoodSession(t, envoy, wire)
	}
	for name, client := range map[string]func() *harness.Client{
		"HTTP/1.1":          envoy.Client,
		"HTTP/2":            func() *harness.Client { return envoy.Client().HTTP2() },
		"HTTP/1.1 over TLS": func() *harness.Client { return envoy.Client().TLS(envoy.certificate, envoy.tlsPort) },
		"HTTP/2 over TLS":   func() *harness.Client { return envoy.Client().TLS(envoy.certificate, envoy.tlsPort).HTTP2() },
	} {
		t.Run("sessions over "+name, func(t *testing.T) { checkProtocol(t, client, strings.Contains(name, "TLS")) })
	}
	wantNoTrap(t, envoy.Envoy)
}

// wantNoTrap fails if the module had to be loaded again. A trap of the native filter would have ended Envoy.
func wantNoTrap(t *testing.T, envoy *harness.Envoy) {
	t.Helper()
	if harness.Native() {
		return
	}
	counters := envoy.Stats(t, `^wasm\.limpet\.vm_reload(_success|_failure|_backoff)?$`)
	for name, value := range counters {
		if value != 0 {
			t.Errorf("%s is %d: the module trapped", name, value)
		}
	}
	if len(counters) != 4 {
		t.Errorf("Envoy has %d of the 4 counters that would show a trap", len(counters))
	}
}

// repeated are count fields of one name and value.
func repeated(count int, name, value string) harness.Fields {
	return slices.Repeat(harness.Fields{{name, value}}, count)
}

// sessionFields are fields that give the same text to each of hostilePaths as its session.
func sessionFields(text string) harness.Fields {
	return harness.Fields{{"cookie", "cart=" + text + "; strip=" + text}, {"x-cart", text}, {"x-strip", text}}
}

// allowedFields are header fields that RFC 9110 and Envoy's limits (60 kB, 100 lines) let through.
func allowedFields(pods []*harness.Backend, valid string) map[string]harness.Fields {
	long := func(text string) string { return strings.Repeat(text, 25_000/len(text)) }
	var high strings.Builder
	for b := 0x80; b <= 0xff; b++ {
		high.WriteByte(byte(b))
	}
	pins := harness.Fields{}
	for i := range 60 {
		pins = append(pins, [2]string{pinHeader, []string{pinTo(pods[0]), "", "%", strings.Repeat("A", 1_000), "127.0.0.1:1"}[i%5]})
	}
	return map[string]harness.Fields{
		"empty values":              sessionFields(""),
		"empty lines":               {{"cookie", ""}, {"cookie", ""}, {"x-cart", ""}, {"x-strip", ""}},
		"tabs":                      sessionFields("\t \t" + valid[:40] + "\t" + valid[41:]),
		"every high byte":           sessionFields(high.String()),
		"high bytes, token's size":  sessionFields(strings.Repeat("\xff", len(valid))),
		"not UTF-8, a token's head": sessionFields(valid[:4] + strings.Repeat("\xc3", len(valid)-4)),
		"one short":                 sessionFields(valid[1:]),
		"one long":                  sessionFields(valid + "A"),
		"quotes":                    sessionFields(strings.Repeat(`"`, 12_000)),
		"one quote":                 sessionFields(`"`),
		"padding":                   sessionFields(valid + "===="),
		"huge":                      {{"cookie", "cart=" + long("A")}, {"x-cart", long("A")}},
		"huge for the other two":    {{"cookie", "strip=" + long("AQ")}, {"x-strip", long("AQ")}},
		"semicolons and commas":     {{"cookie", long(";")}, {"x-cart", long(",")}},
		"equals signs":              {{"cookie", long("=")}, {"x-strip", long(" ,")}},
		"names without values":      {{"cookie", long("strip;cart;")}, {"x-strip", long("x,")}},
		"90 lines of cookies":       repeated(90, "cookie", "strip="+valid[:60]+strings.Repeat("A", len(valid)-60)),
		"90 lines of headers":       repeated(90, "x-strip", valid[:60]+strings.Repeat("A", len(valid)-60)),
		"60 pin headers":            pins,
		"pin header and session":    append(sessionFields(valid), pins[:2]...),
		"hostile preflight": {
			{"origin", high.String()},
			{"access-control-request-method", long("X")},
			{"access-control-request-headers", long("x-strip,")},
		},
	}
}

func checkAllowed(t *testing.T, envoy twoPorts, wires []harness.Wire) {
	valid := mint(t, envoy.Envoy, "cart", envoy.pods[1].Address, harness.Dates{})
	before, sent := envoy.SessionTotal(t), uint64(0)
	for name, fields := range allowedFields(envoy.pods, valid) {
		for _, wire := range wires {
			for _, path := range hostilePaths {
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
					raw := wire.Send(t, method, path, fields)
					if raw.Status != http.StatusOK || raw.Header.Get(harness.BackendHeader) == "" {
						t.Errorf("%s: %s %s with %s: status %d, %v", wire.Name, method, path, name, raw.Status, raw.Header)
					}
					wantNoPin(t, name, raw)
					sent++
				}
			}
		}
	}
	// Only the preflights have no outcome: one set of fields, with one of three methods.
	preflights := uint64(len(wires) * len(hostilePaths))
	if got := envoy.SessionTotal(t) - before; got != sent-preflights {
		t.Errorf("limpet counted %d outcomes of %d requests, %d of them preflights", got, sent, preflights)
	}
}

func wantNoPin(t *testing.T, name string, raw harness.Raw) {
	t.Helper()
	if got := raw.Header.Values(pinHeader); len(got) > 0 {
		t.Errorf("%s: the answer has %s: %q", name, pinHeader, got)
	}
}

// checkRefused sends what HTTP forbids or Envoy's limits do not let through. Whether Envoy refuses it or repairs it is
// Envoy's business; here it must only not fail.
func checkRefused(t *testing.T, wires []harness.Wire) {
	refused := map[string]harness.Fields{
		"bare CR":         sessionFields("a\rb"),
		"bare LF":         sessionFields("a\nb"),
		"folded line":     sessionFields("a\r\n b"),
		"200 cookies":     repeated(200, "cookie", "cart=x"),
		"100 kB":          sessionFields(strings.Repeat("A", 35_000)),
		"a second path":   {{":path", "/strip"}},
		"space in a name": {{"cookie ", "cart=x"}},
		"colon in a name": {{":cookie", "cart=x"}},
		"no name":         {{"", "cart=x"}},
	}
	for _, control := range "\x00\x01\x08\x0b\x0c\x1f\x7f" {
		refused[fmt.Sprintf("control byte %#x", control)] = sessionFields("a" + string(control) + "b")
	}
	var group sync.WaitGroup
	for name, fields := range refused {
		for _, wire := range wires {
			for _, path := range hostilePaths {
				group.Go(func() { // together, for Envoy takes a second to close a connection of HTTP/2
					raw := wire.Send(t, http.MethodGet, path, fields)
					if raw.Status >= http.StatusInternalServerError {
						t.Errorf("%s: %s: status %d", wire.Name, name, raw.Status)
					}
					wantNoPin(t, name, raw)
				})
			}
		}
	}
	group.Wait()
}

// checkHostileBackend has backends answer with headers that limpet reads and writes.
func checkHostileBackend(t *testing.T, wires []harness.Wire) {
	long := strings.Repeat("A,", 10_000)
	for name, lines := range map[string][]string{
		"pin headers":      append(slices.Repeat([]string{pinHeader + ": %%%", "X-LIMPET-PIN:"}, 20), pinHeader+": "+long),
		"cookies":          slices.Repeat([]string{"Set-Cookie: a\xff=1", "Set-Cookie:", "Set-Cookie: =;;;"}, 20),
		"a huge cookie":    {"Set-Cookie: " + long},
		"cache control":    {"Cache-Control: " + long, "Cache-Control: ,,=,\"", "Expires: \xff"},
		"exposed headers":  {"Access-Control-Allow-Origin: *", "Access-Control-Expose-Headers: " + long},
		"its own token":    {"X-Cart: " + long, "X-Strip: \xff\xfe"},
		"a logout":         {"X-Session-End:", "X-Session-End: " + long},
		"a gRPC status":    {"Grpc-Status: 14", "Grpc-Message: \xff"},
		"a strange status": {"Status: 999", ":status: 999"},
	} {
		fields := harness.Fields{{harness.ReplyQuiet, "1"}}
		for _, line := range lines {
			fields = append(fields, [2]string{strings.ToLower(harness.ReplyHeader), line})
		}
		fields[0][0] = strings.ToLower(fields[0][0])
		for _, wire := range wires {
			for _, path := range hostilePaths {
				raw := wire.Send(t, http.MethodGet, path, fields)
				if raw.Status != http.StatusOK {
					t.Errorf("%s: %s with %s: status %d", wire.Name, path, name, raw.Status)
				}
				wantNoPin(t, name, raw)
			}
		}
	}
}

// checkLeaving has clients close their connections while the backend still works on their requests.
func checkLeaving(t *testing.T, wires []harness.Wire) {
	fields := append(sessionFields("forged"), [2]string{strings.ToLower(harness.ReplyDelay), "2s"})
	for range 4 {
		for _, wire := range wires {
			for _, path := range hostilePaths {
				wire.Leave(t, path, fields)
			}
		}
	}
}

// checkGoodSession wants a session to stick on every route, and other sessions elsewhere.
func checkGoodSession(t *testing.T, envoy twoPorts, wire harness.Wire) {
	t.Helper()
	for _, path := range hostilePaths {
		name := strings.TrimPrefix(path, "/")
		for _, pod := range envoy.pods {
			text := mint(t, envoy.Envoy, name, pod.Address, harness.Dates{})
			fields := harness.Fields{{"cookie", name + "=" + text}, {name, text}}
			if raw := wire.Send(t, http.MethodGet, path, fields); raw.Header.Get(harness.BackendHeader) != pod.Name {
				t.Errorf("%s: %s: a session on %s: status %d from %q", wire.Name, path, pod.Name, raw.Status, raw.Header)
			}
		}
	}
}

// checkProtocol wants sessions to begin and to stay, and those of the policy "tls" to begin over TLS only.
func checkProtocol(t *testing.T, client func() *harness.Client, overTLS bool) {
	for range 3 {
		stay(t, client(), "/cart", 10, "Cookie: other=1")
		first := visit(t, client(), "/x-cart")
		line := "x-cart: " + first.Header.Get("x-cart")
		if again := stay(t, client(), "/x-cart", 10, line); again != first.Backend {
			t.Fatalf("the session began on %s and went on on %s", first.Backend, again)
		}
		issued := visit(t, client(), "/tls").Cookie(t, "tls") != nil
		if issued != overTLS {
			t.Errorf("issueOn: TLS issued a token: %v", issued)
		}
	}
}
