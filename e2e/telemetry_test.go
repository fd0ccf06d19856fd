package e2e

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// telemetryFlags turn on all that is told of single requests.
var telemetryFlags = []string{"--access-log", "--access-log-fields=session", "--debug-tickets"}

// logLine is a line of the access log.
type logLine map[string]any

// logged waits for the line of the request with that user agent.
func logged(t *testing.T, envoy *harness.Envoy, agent string) logLine {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for line := range strings.Lines(envoy.Log(t)) {
			var l logLine
			if json.Unmarshal([]byte(line), &l) == nil && l["user_agent"] == agent {
				return l
			}
		}
	}
	t.Fatalf("no line in the access log for %s:\n%s", agent, envoy.Log(t))
	return nil
}

func (l logLine) want(t *testing.T, fields map[string]any) {
	t.Helper()
	for name, want := range fields {
		if l[name] != want {
			t.Errorf("%s: %v, want %v, in %v", name, l[name], want, l)
		}
	}
}

// TestTelemetry follows one user through the access log, and through answers to tickets: a session begins, stays, loses its host in
// each way, and another's is told apart. What says who a session is can be used for nothing.
//
// requirements: S78
func TestTelemetry(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "sound"))
	deployment.Documents.Services = append(deployment.Documents.Services, harness.Service{Name: "sound", Backends: pods[:1]})
	deployment.Flags = telemetryFlags
	pods[0].UID = "of the first"
	envoy, lost := lostHosts(t, deployment, pods)
	client := envoy.Client()
	begun := visit(t, client, "/cart", "User-Agent: begins")
	first := logged(t, envoy, "begins")
	policy := envoy.Policy(t, "cart").Name
	first.want(t, map[string]any{
		"session_outcome": "new", "session_policy": policy, "session_age": nil, "session_host": nil, "session_reason": nil,
		"method": "GET", "path": "/cart", "response_code": 200.0, "upstream_host": pods[0].Address, "response_code_details": "via_upstream",
		"upstream_pod": "default/pod",
	})
	digest, _ := first["session"].(string)
	if len(digest) != 16 {
		t.Errorf("the session's digest is %v", first["session"])
	}
	deployment.Documents.Port = envoy.Port
	line := "< Set-Cookie: " + begun.Header.Get("Set-Cookie")
	if printed := askAbout(t, "inspect", deployment.Documents, envoy.Keys(), line); !strings.Contains(printed, `"session":"`+digest+`"`) ||
		!strings.Contains(printed, "pinned: to "+pods[0].Address) || !strings.Contains(printed, "Pod default/pod, ") {
		t.Errorf("of the first answer's cookie limpet inspect says\n%s", printed)
	}
	visit(t, client, "/cart", "User-Agent: stays")
	logged(t, envoy, "stays").want(t, map[string]any{
		"session_outcome": "pinned", "session_policy": policy, "session_host": pods[0].Address, "session": digest,
	})
	visit(t, envoy.Stranger(), "/cart", cookieLine("cart", digest), "User-Agent: thief")
	logged(t, envoy, "thief").want(t, map[string]any{"session_outcome": "malformed"})
	visit(t, client, "/plain", "User-Agent: plain")
	logged(t, envoy, "plain").want(t, map[string]any{"session_outcome": nil, "session_policy": nil, "response_code": 200.0})
	for how, reason := range map[string]string{"refuses": "host-refused", "unhealthy": "host-gone", "gone": "host-gone"} {
		text := mint(t, envoy, "cart", lost[how], harness.Dates{Issued: -time.Minute})
		visit(t, envoy.Stranger(), "/cart", cookieLine("cart", text), "User-Agent: "+how)
		l := logged(t, envoy, how)
		if l["upstream_attempts"] != 1.0 {
			reason = "host-refused" // in the place of a lost host another was tried, which refuses
		}
		l.want(t, map[string]any{
			"session_outcome": "moved", "session_reason": reason, "session_host": lost[how], "upstream_host": pods[0].Address,
		})
		if age, _ := l["session_age"].(string); age < "60" || age > "70" || len(age) != 2 {
			t.Errorf("%s: the session's age is %q", how, age)
		}
	}
	checkTickets(t, envoy, lost)
}

// TestLoggedHeaders: an access log has the headers that the operator chose, of which long values are cut and none breaks the line. A header of
// a session is none of them: the rule has no session then, and no token is in the log.
//
// requirements: S78
func TestLoggedHeaders(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("X-Tenant", "pods"))
	deployment.Flags = []string{"--access-log", "--access-log-fields", "request:X-Tenant,response:x_cache,request:Accept-Language"}
	deployment.ExitCode = 3
	envoy := harness.Run(t, deployment)
	visit(t, envoy.Client(), "/cart", "User-Agent: chosen", `X-Tenant: acme "%REQ(COOKIE)%`, "Accept-Language: "+strings.Repeat("x", 400),
		harness.ReplyHeader+": x_cache: hit")
	logged(t, envoy, "chosen").wantHeaders(t, "request_headers", map[string]any{
		"x-tenant": `acme "%REQ(COOKIE)%`, "accept-language": strings.Repeat("x", 256),
	})
	logged(t, envoy, "chosen").wantHeaders(t, "response_headers", map[string]any{"x_cache": "hit"})
	if r := visit(t, envoy.Client(), "/X-Tenant", "User-Agent: session"); r.Header.Get("X-Tenant") != "" {
		t.Errorf("a session has a header that is logged: %v", r.Header)
	}
	logged(t, envoy, "session").wantHeaders(t, "request_headers", map[string]any{"x-tenant": nil, "accept-language": nil})
}

func (l logLine) wantHeaders(t *testing.T, field string, want map[string]any) {
	t.Helper()
	if got, _ := l[field].(map[string]any); !reflect.DeepEqual(got, want) {
		t.Errorf("%s are %v, want %v", field, got, want)
	}
}

// checkTickets asks with a ticket that the command makes, and with ones that are none.
func checkTickets(t *testing.T, envoy *harness.Envoy, lost map[string]string) {
	scope := envoy.Policy(t, "cart").Scope
	code, good, stderr := harness.Limpet(t, []string{"LIMPET_KEYS=" + envoy.Keys().JSON(t)}, "ticket", scope)
	if good = strings.TrimSpace(good); code != 0 || len(good) != token.TicketLen {
		t.Fatalf("limpet ticket: exit code %d, %q\n%s", code, good, stderr)
	}
	name := "; policy=" + envoy.Policy(t, "cart").Name
	text := mint(t, envoy, "cart", lost["refuses"], harness.Dates{})
	for line, want := range map[string]string{
		"Cookie: none=1":         "outcome=new" + name,
		cookieLine("cart", text): "outcome=moved; reason=host-refused" + name + "; age=0",
	} {
		r := visit(t, envoy.Stranger(), "/cart", line, policyconfig.TicketHeader+": "+good, harness.ReplyHeader+": Cache-Control: private, max-age=60")
		if got := r.Header.Get(policyconfig.AnswerHeader); got != want && !strings.HasPrefix(got, strings.TrimSuffix(want, "0")) {
			t.Errorf("the answer to a ticket is %q, want %q", got, want)
		}
		if got := r.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("an answer with Cache-Control %q", got)
		}
	}
	other := harness.NewRing("first").Scope(t, scope)
	forged, err := other.AppendTicket(nil, time.Now().Unix(), time.Now().Unix()+60)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/cart", "/plain"} {
		for _, ticket := range []string{good, string(forged), strings.Repeat("A", 60), strings.Repeat("x", 9000)} {
			r := visit(t, envoy.Stranger(), path, policyconfig.TicketHeader+": "+ticket)
			if r.Seen.Headers["Limpet-Ticket"] != nil {
				t.Errorf("%s: the backend sees a ticket", path)
			}
			got, bad := r.Header.Get(policyconfig.AnswerHeader), path == "/cart" && ticket != good
			if (got == "ticket=invalid") != bad || (got == "") != (path == "/plain") {
				t.Errorf("%s: a ticket %.20s... was answered %q", path, ticket, got)
			}
		}
	}
}

// TestTickets: only a ticket of the scope's that is good now is told anything; others have one answer for all. Whatever stands in the header, neither a backend nor a
// mirror sees it, and a request without one is told nothing and may be kept by caches as its backend says.
//
// requirements: S78, S79
func TestTickets(t *testing.T) {
	t.Parallel()
	pods, mirror := harness.Backends(t, "a", "b"), harness.Backends(t, "mirror")
	documents := harness.OneRoute(pods, filtered("cart", mirrorFilter), harness.CookieRule("other", "pods"))
	documents.Services = append(documents.Services, harness.Service{Name: "mirror", Backends: mirror})
	envoy := harness.Run(t, harness.Deployment{Documents: documents, Flags: telemetryFlags})
	now := time.Now().Unix()
	ticketOf := func(session string, issued, ends int64) string {
		text, err := envoy.Keys().Scope(t, envoy.Policy(t, session).Scope).AppendTicket(nil, issued, ends)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	good := ticketOf("cart", now, now+token.TicketLife)
	client := envoy.Client()
	for name, c := range map[string]struct {
		ticket   string
		answered bool
	}{
		"none":              {"", false},
		"good":              {good, true},
		"of another scope":  {ticketOf("other", now, now+token.TicketLife), false},
		"expired":           {ticketOf("cart", now-token.TicketLife, now-1), false},
		"from the future":   {ticketOf("cart", now+3600, now+3600+token.TicketLife), false},
		"a letter is wrong": {good[:token.TicketLen-1] + otherLetter(good[token.TicketLen-1]), false},
	} {
		lines := []string{harness.ReplyHeader + ": Cache-Control: private, max-age=60"}
		if c.ticket != "" {
			lines = append(lines, policyconfig.TicketHeader+": "+c.ticket)
		}
		before := mirror[0].Requests()
		r := visit(t, client, "/cart", lines...)
		answer, cached := r.Header.Get(policyconfig.AnswerHeader), r.Header.Get("Cache-Control")
		invalid := c.ticket != "" && !c.answered
		if strings.HasPrefix(answer, "outcome=") != c.answered || (answer == "ticket=invalid") != invalid || (cached == "no-store") != (c.ticket != "") {
			t.Errorf("%s: the answer is %q, with Cache-Control %q", name, answer, cached)
		}
		if r.Seen.Headers["Limpet-Ticket"] != nil {
			t.Errorf("%s: the backend sees the ticket", name)
		}
		eventually(t, "there is a copy", func() bool { return mirror[0].Requests() > before })
	}
	if mirror[0].Requests() < 6 || mirror[0].Got(policyconfig.TicketHeader) {
		t.Errorf("the mirror got %d requests, with a ticket: %t", mirror[0].Requests(), mirror[0].Got(policyconfig.TicketHeader))
	}
}

// otherLetter is one that a letter of a token is not.
func otherLetter(of byte) string {
	if of == 'A' {
		return "B"
	}
	return "A"
}

// TestNothingIsLogged: without the flags there is no line in Envoy's log, and a ticket is a header like others.
//
// requirements: S78
func TestNothingIsLogged(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	envoy := harness.Run(t, deployment)
	good, err := envoy.Keys().Scope(t, envoy.Policy(t, "cart").Scope).AppendTicket(nil, time.Now().Unix(), time.Now().Unix()+60)
	if err != nil {
		t.Fatal(err)
	}
	r := visit(t, envoy.Client(), "/cart", policyconfig.TicketHeader+": "+string(good))
	if r.Header.Get(policyconfig.AnswerHeader) != "" || strings.Contains(envoy.Log(t), "session_outcome") {
		t.Errorf("something is told:\n%v\n%s", r.Header, envoy.Log(t))
	}
}
