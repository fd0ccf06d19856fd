package behaviour

import (
	"strings"
	"testing"
	"time"
)

// setting has backends answer with a value of their own under the session's cookie, and everything else.
func setting(lines ...string) func(string, [][2]string) [][2]string {
	return func(string, [][2]string) [][2]string {
		reply := [][2]string{{":status", "200"}}
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			reply = append(reply, [2]string{name, value})
		}
		return reply
	}
}

// eachEnveloped runs a test where the application sets the cookie in its first response only.
func eachEnveloped(t *testing.T, cookie string, fields []string, test func(t *testing.T, w *world, home string)) {
	t.Helper()
	each(t, config(append([]string{`"envelope":true`}, fields...)...), func(t *testing.T, w *world) {
		w.Answer = setting("set-cookie: " + cookie)
		home := w.get().host
		w.Answer = nil
		test(t, w, home)
	})
}

// TestEnvelope: the client gets one signed text with the application's attributes, and the backend sees its own value on every
// request, on the host that has the session.
func TestEnvelope(t *testing.T) {
	eachEnveloped(t, "sid=abc.def; Path=/app; HttpOnly", nil, func(t *testing.T, w *world, home string) {
		sent := w.cookies["sid"]
		if !strings.HasPrefix(sent, "A") || strings.Contains(sent, "abc") {
			t.Errorf("the client has %q", sent)
		}
		for range 4 {
			r := w.get("cookie: a=1; sid=" + sent + "; b=2")
			want(t, "host", r.host, home)
			want(t, "what the backend sees", values(r.received, "cookie")[0], "a=1; sid=abc.def; b=2")
			want(t, "cookies that are set", len(r.setCookies()), 0)
		}
		w.counted("p new", 1)
		w.counted("p pinned", 4)
	})
}

// TestEnvelopeKeepsAttributes: of every line, whatever is in it, also beside other cookies.
func TestEnvelopeKeepsAttributes(t *testing.T) {
	each(t, config(`"envelope":true`), func(t *testing.T, w *world) {
		w.Answer = setting("set-cookie: theme=dark; Path=/", "set-cookie: sid=one ; Domain=shop.example;secure; X=\"y\"; Max-Age=60",
			"set-cookie: sid=two;Path=/two", "set-cookie: sid=; Path=/gone; Max-Age=0", "set-cookie: sid=gone; max-age=-1")
		r := w.get()
		lines := r.setCookies()
		want(t, "lines", len(lines), 5)
		want(t, "another cookie", lines[0], "theme=dark; Path=/")
		for i, end := range map[int]string{1: "; Domain=shop.example;secure; X=\"y\"; Max-Age=60", 2: ";Path=/two"} {
			if !strings.HasPrefix(lines[i], "sid=AQ") || !strings.HasSuffix(lines[i], end) || strings.Contains(lines[i], "one") {
				t.Errorf("line %d: %q", i, lines[i])
			}
		}
		want(t, "a removal", lines[3], "sid=; Path=/gone; Max-Age=0")
		want(t, "another removal", lines[4], "sid=gone; max-age=-1")
	})
}

// TestEnvelopeOfVoidToken: the backend still gets its value, and the client an envelope for the host that it came to, with the
// attributes that the application chose.
func TestEnvelopeOfVoidToken(t *testing.T) {
	fields := []string{`"absoluteTimeout":"100s"`}
	eachEnveloped(t, "sid=abc; Path=/app; Max-Age=1000; Secure", fields, func(t *testing.T, w *world, home string) {
		w.pass(150 * time.Second)
		r := w.get()
		want(t, "what the backend sees", values(r.received, "cookie")[0], "sid=abc")
		if r.host == home {
			t.Error("an expired token pinned")
		}
		if line := strings.Join(r.setCookies(), "|"); !strings.HasSuffix(line, "; Path=/app; Max-Age=850; Secure") {
			t.Errorf("set-cookie: %q", line)
		}
		w.counted("p expired-absolute", 1)
		again := w.get()
		want(t, "host of the new session", again.host, r.host)
		want(t, "what its backend sees", values(again.received, "cookie")[0], "sid=abc")
	})
}

// TestEnvelopeMoves: to another host with the value, and it keeps its id.
func TestEnvelopeMoves(t *testing.T) {
	eachEnveloped(t, "sid=abc; Path=/app", nil, func(t *testing.T, w *world, home string) {
		w.hosts = without1(w.hosts, home)
		r := w.get()
		want(t, "what the backend sees", values(r.received, "cookie")[0], "sid=abc")
		if line := strings.Join(r.setCookies(), "|"); !strings.HasSuffix(line, "; Path=/app") {
			t.Errorf("set-cookie: %q", line)
		}
		want(t, "host after the move", w.get().host, r.host)
		w.counted("p moved", 1)
	})
}

// TestEnvelopeIsRenewed: for its idle timeout. A cookie that the client has dropped by then is not set again.
func TestEnvelopeIsRenewed(t *testing.T) {
	fields := []string{`"idleTimeout":"100s"`}
	eachEnveloped(t, "sid=abc; Path=/app; Max-Age=90", fields, func(t *testing.T, w *world, home string) {
		old := w.cookies["sid"]
		w.pass(50 * time.Second)
		r := w.get()
		want(t, "host", r.host, home)
		if line := strings.Join(r.setCookies(), "|"); !strings.HasSuffix(line, "; Path=/app; Max-Age=40") {
			t.Errorf("set-cookie: %q", line)
		}
		w.pass(45 * time.Second)
		want(t, "cookies set after the cookie's end", len(w.get().setCookies()), 0)
		want(t, "cookies set for a value that came late", len(w.get("cookie: sid="+old).setCookies()), 0)
	})
}

// TestEnvelopeOfHostThatFails: the client keeps its value, without a pin.
func TestEnvelopeOfHostThatFails(t *testing.T) {
	eachEnveloped(t, "sid=abc; Path=/app", nil, func(t *testing.T, w *world, home string) {
		w.Answer = func(string, [][2]string) [][2]string { return [][2]string{{":status", "503"}} }
		r := w.get()
		want(t, "host", r.host, home)
		want(t, "what is set", strings.Join(r.setCookies(), "|"), "sid=abc; Path=/app")
		w.Answer = nil
		want(t, "what the next backend sees", values(w.get().received, "cookie")[0], "sid=abc")
		w.counted("p failed", 1)
	})
}

// TestEnvelopeEnds: logout removes the cookie that the application chose.
func TestEnvelopeEnds(t *testing.T) {
	fields := []string{`"endSessionHeader":"x-end"`}
	eachEnveloped(t, "sid=abc; Path=/app; Max-Age=90; Domain=shop.example", fields, func(t *testing.T, w *world, _ string) {
		w.Answer = setting("x-end: 1")
		want(t, "what is set", strings.Join(w.get().setCookies(), "|"),
			"sid=; Path=/app; Domain=shop.example; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
		w.counted("p ended", 1)
	})
}

// TestRawValuesPass: what the client had before envelopes, and what no backend set: nothing is issued for it.
func TestRawValuesPass(t *testing.T) {
	each(t, config(`"envelope":true`), func(t *testing.T, w *world) {
		for _, cookie := range []string{"sid=abc", "sid=", "sid=\"a b\"", "sid=a.b.c", "other=1", "sid=" + forged, "sid=" + forged + "."} {
			r := w.get("cookie: " + cookie)
			want(t, "what the backend sees", values(r.received, "cookie")[0], cookie)
			want(t, "cookies that are set for "+cookie, len(r.setCookies()), 0)
		}
		for _, outcome := range []string{"new", "pinned", "malformed"} {
			w.counted("p "+outcome, 0)
		}
	})
}

// TestHostileEnvelopes: whatever is changed in one, its token pins nothing, the backend sees no more than a client could have
// sent it anyway, and the attributes go nowhere.
func TestHostileEnvelopes(t *testing.T) {
	eachEnveloped(t, "sid=abc; Path=/app", nil, func(t *testing.T, w *world, home string) {
		good := w.cookies["sid"]
		tok, body, _ := strings.Cut(good, ".")
		w.Answer = setting("set-cookie: sid=xyz; Path=/app")
		w.get("cookie: none=1")
		other := w.cookies["sid"]
		_, otherBody, _ := strings.Cut(other, ".")
		w.Answer = nil
		for name, text := range map[string]string{
			"another's value":   tok + "." + otherBody,
			"changed value":     tok + "." + body[:len(body)/2] + flip(body[len(body)/2]) + body[len(body)/2+1:],
			"changed signature": good[:len(good)-2] + flip(good[len(good)-2]) + good[len(good)-1:],
			"spoilt token":      spoilt(tok) + "." + body,
			"cut":               good[:len(good)-4],
			"longer":            good + "AAAA",
			"padded":            good + "=",
			"two marks":         tok + ".." + body,
			"no body":           tok + ".",
			"as long as can be": tok + "." + strings.Repeat("A", 4096-len(tok)-1),
			"too long":          tok + "." + strings.Repeat("A", 8192),
		} {
			r := w.get("cookie: sid=" + text)
			if r.host == home && len(w.hosts) > 1 && w.counts()["p pinned"] > 0 {
				t.Errorf("%s: pinned", name)
			}
			want(t, name+": cookies that are set", len(r.setCookies()), 0)
			want(t, name+": lines at the backend", len(values(r.received, "cookie")), 1)
		}
		w.counted("p pinned", 0)
		w.get("cookie: sid=" + good)
		w.counted("p pinned", 1)
	})
}

// TestNestedEnvelopes: a value that is an envelope is a value like others.
func TestNestedEnvelopes(t *testing.T) {
	eachEnveloped(t, "sid=abc; Path=/app", nil, func(t *testing.T, w *world, home string) {
		inner := w.cookies["sid"]
		w.Answer = setting("set-cookie: sid=" + inner + "; Path=/")
		want(t, "host", w.get().host, home)
		w.Answer = nil
		r := w.get()
		want(t, "host", r.host, home)
		want(t, "what the backend sees", values(r.received, "cookie")[0], "sid="+inner)
	})
}

// TestOddValues: every byte that HTTP carries comes back as it was, up to what browsers keep.
func TestOddValues(t *testing.T) {
	odd := []string{
		`"quoted value"`, `a,b,c`, "\x80\xff\xfeé", `a=b==`, "tab\tin it", "%3B%00", strings.Repeat("x", 2000), "!#$&'()*+-./:<=>?@[]^_`{|}~",
	}
	each(t, config(`"envelope":true`), func(t *testing.T, w *world) {
		for _, value := range odd {
			w.Answer = setting("set-cookie: sid=" + value + "; Path=/")
			w.get("cookie: a=1")
			w.Answer = nil
			want(t, "what the backend sees", values(w.get().received, "cookie")[0], "sid="+value)
		}
		for _, length := range []int{2900, 3000, 4000, 9000} {
			long := strings.Repeat("y", length)
			w.Answer = setting("set-cookie: sid=" + long + "; Path=/")
			w.get("cookie: a=1")
			w.Answer = nil
			if size := len("sid") + len(w.cookies["sid"]); size > 4096 && w.cookies["sid"] != long {
				t.Errorf("a cookie of %d bytes, which browsers drop", size)
			}
			want(t, "a long value at the backend", values(w.get().received, "cookie")[0], "sid="+long)
		}
	})
}

// TestSeveralEnvelopes: of two paths. Each is unwrapped, and the first good one pins.
func TestSeveralEnvelopes(t *testing.T) {
	eachEnveloped(t, "sid=abc; Path=/app", nil, func(t *testing.T, w *world, home string) {
		good := w.cookies["sid"]
		w.Answer = setting("set-cookie: sid=xyz; Path=/")
		w.get("cookie: none=1")
		w.Answer = nil
		r := w.get("cookie: sid=raw; sid="+good, "cookie: b=1; sid="+w.cookies["sid"]+"; sid="+good)
		want(t, "host", r.host, home)
		want(t, "what the backend sees", strings.Join(values(r.received, "cookie"), "|"), "sid=raw; sid=abc|b=1; sid=xyz; sid=abc")
	})
}

// TestHeaderEnvelope: an application's own session id in a header, as the Model Context Protocol has it.
func TestHeaderEnvelope(t *testing.T) {
	fields := []string{`"envelope":true`, `"type":"Header"`, `"sessionName":"Mcp-Session-Id"`}
	each(t, config(fields...), func(t *testing.T, w *world) {
		w.Answer = setting("mcp-session-id: 1868a90c-1234")
		first := w.get()
		id := first.header("mcp-session-id")
		if !strings.HasPrefix(id, "AQ") {
			t.Errorf("the client has %q", id)
		}
		w.Answer = nil
		for _, line := range []string{id, " " + id + " ", id + ", x", "x, " + id} {
			r := w.get("mcp-session-id: " + line)
			want(t, "host", r.host, first.host)
			want(t, "what the backend sees", strings.Join(values(r.received, "mcp-session-id"), "|"), "1868a90c-1234")
			want(t, "what the response says", r.header("mcp-session-id"), "")
		}
		r := w.get("mcp-session-id: 1868a90c-1234")
		want(t, "a raw value at the backend", strings.Join(values(r.received, "mcp-session-id"), "|"), "1868a90c-1234")
		want(t, "what the response says to it", r.header("mcp-session-id"), "")
		w.counted("p new", 1)
		w.counted("p pinned", 4)
	})
}

// TestEnvelopeOfAnotherScope: a rule that got another name, or keys that are gone. The value passes, so that no client is logged
// out of the application.
func TestEnvelopeOfAnotherScope(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(`"envelope":true`), start)
		w.Answer = setting("set-cookie: sid=abc; Path=/app")
		w.get()
		w.Answer = nil
		w.restart(config(`"envelope":true`, `"scope":"other"`), start, ringA)
		want(t, "what the backend sees", values(w.get().received, "cookie")[0], "sid=abc")
		w.counted("p wrong-scope", 1)
		w.restart(config(`"envelope":true`), start, strings.ReplaceAll(ringA, `"a"`, `"b"`))
		want(t, "what the backend sees with other keys", values(w.get().received, "cookie")[0], "sid=abc")
		w.counted("p unknown-key", 1)
	})
}

// TestEnvelopeOfAPod: what the policy knows of pods holds for sessions in envelopes as for others: an address that another pod
// has ends them, a pod that comes back elsewhere keeps them, and the application has its value either way.
func TestEnvelopeOfAPod(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		const one, two = "10.0.0.1:8080", "10.0.0.2:8080"
		known := func(owners ...string) string {
			return config(`"envelope":true`, `"owners":["`+strings.Join(owners, `","`)+`"]`)
		}
		w := newWorld(t, known(ownedByName(one, "web-0").String()), start)
		w.hosts, w.Answer = []string{one}, setting("set-cookie: sid=abc; Path=/")
		w.get()
		w.hosts, w.Answer = []string{one, two}, nil
		w.restart(known(ownedByName(two, "web-0").String(), ownedByName(one, "web-1").String()), start, ringA)
		r := w.get("cookie: sid=" + w.cookies["sid"])
		want(t, "host of the pod that came back", r.host, two)
		want(t, "envelopes in that answer", len(r.setCookies()), 1)
		want(t, "what it sees", values(r.received, "cookie")[0], "sid=abc")
		w.restart(known(ownedByName(one, "web-1").String(), ownedByName(two, "web-2").String()), start, ringA)
		r = w.get("cookie: sid=" + w.cookies["sid"])
		want(t, "what another pod sees", values(r.received, "cookie")[0], "sid=abc")
		w.counted("p host-reused", 1)
	})
}
