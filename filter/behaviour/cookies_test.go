package behaviour

import (
	"strings"
	"testing"
)

// A bad token of the right form: no parts, host hidden, IPv4.
var forged = "AQE" + strings.Repeat("A", 93)

func TestManyCookies(t *testing.T) {
	tests := []struct {
		name  string
		lines func(tok string) []string
	}{
		{"alone", func(tok string) []string { return []string{"sid=" + tok} }},
		{"among others", func(tok string) []string { return []string{"a=1; sid=" + tok + "; b=2"} }},
		{"no spaces", func(tok string) []string { return []string{"a=1;sid=" + tok + ";b=2"} }},
		{"odd spaces", func(tok string) []string { return []string{"  a=1 ;\t sid = " + tok + "\t ; ;;b"} }},
		{"quoted", func(tok string) []string { return []string{`sid="` + tok + `"`} }},
		{"after a bad one", func(tok string) []string { return []string{"sid=" + forged + "; sid=" + tok} }},
		{"after rubbish", func(tok string) []string { return []string{"sid=; sid=x; sid; =; sid=" + tok} }},
		{"in the second line", func(tok string) []string { return []string{"a=1", "sid=" + tok} }},
		{"in the third line, bad ones before", func(tok string) []string { return []string{"sid=" + forged, "sid=y", "b=2; sid=" + tok} }},
		{"fourth candidate", func(tok string) []string { return []string{strings.Repeat("sid="+forged+"; ", 3) + "sid=" + tok} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, config(), func(t *testing.T, w *world) {
				home := w.get().host
				var lines, received []string
				for _, line := range tt.lines(w.cookies["sid"]) {
					lines = append(lines, "cookie: "+line)
					received = append(received, strings.TrimSpace(line)) // as HTTP carries it
				}
				for range 3 {
					r := w.get(lines...)
					want(t, "host", r.host, home)
					want(t, "tokens issued", len(r.setCookies()), 0)
					for i, line := range values(r.received, "cookie") {
						want(t, "a cookie line at the backend", strings.TrimSpace(line), received[i])
					}
					want(t, "cookie lines at the backend", len(values(r.received, "cookie")), len(received))
				}
			})
		})
	}
}

// spoilt is a token of this scope and its key with a signature that is wrong.
func spoilt(tok string) string {
	return tok[:len(tok)-1] + flip(tok[len(tok)-1])
}

func TestFifthCandidateIsNotVerified(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		home := w.get().host
		bad := "sid=" + spoilt(w.cookies["sid"]) + "; "
		r := w.get("cookie: " + strings.Repeat(bad, 3) + "sid=" + w.cookies["sid"])
		want(t, "host after three wrong signatures", r.host, home)
		r = w.get("cookie: " + strings.Repeat(bad, 4) + "sid=" + w.cookies["sid"])
		if r.host == home {
			t.Error("more than four signatures were checked")
		}
		want(t, "tokens issued", len(r.setCookies()), 1)
	})
}

// TestValuesThatNeedNoSignature: cookies that need no cryptography to be refused, planted by a neighbouring site, end no
// session, however many they are.
func TestValuesThatNeedNoSignature(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		home := w.get().host
		tok := w.cookies["sid"]
		for name, value := range map[string]string{
			"no token":         "x",
			"empty":            "",
			"an unknown key":   forged,
			"a wrong alphabet": tok[:50] + "*" + tok[51:],
			"a wrong scope":    tok[:12] + flip(tok[12]) + tok[13:],
		} {
			r := w.get("cookie: " + strings.Repeat("sid="+value+"; ", 200) + "sid=" + tok)
			want(t, "host after 200 values with "+name, r.host, home)
			want(t, "tokens issued", len(r.setCookies()), 0)
		}
	})
}

// flip gives another character of a token than this one, whose spare bits are 0 wherever it stands: a last character with others is
// refused before any signature is checked.
func flip(c byte) string {
	if c == 'A' {
		return "Q"
	}
	return "A"
}

func TestOtherNamesAreNotTried(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		home := w.get().host
		for _, name := range []string{"SID", "sid2", "xsid", "si", "sid[]", "$sid"} {
			if w.get("cookie: "+name+"="+w.cookies["sid"]).host == home {
				t.Errorf("the cookie %s was taken for sid", name)
			}
			w.Turn = 1
		}
	})
}

func TestForward(t *testing.T) {
	tests := []struct{ name, sent, received string }{
		{"alone", "sid=TOKEN", ""},
		{"first", "sid=TOKEN; a=1; b=2", "a=1; b=2"},
		{"middle", "a=1; sid=TOKEN; b=2", "a=1; b=2"},
		{"last", "a=1; sid=TOKEN", "a=1"},
		{"twice", "sid=TOKEN; a=1; sid=FORGED", "a=1"},
		{"not a token", "sid=own; a=1; sid=TOKEN", "sid=own; a=1"},
		{"byte for byte", `a="x y"; sid=TOKEN; b==;c ;d=é`, `a="x y"; b==;c ;d=é`},
		{"two lines", "a=1; sid=TOKEN|b=2", "a=1|b=2"},
		{"two lines, one of them alone", "sid=TOKEN|b=2", "b=2"},
		{"none of ours", "a=1 ;; b=2", "a=1 ;; b=2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, config(`"forward":false`), func(t *testing.T, w *world) {
				w.get()
				sent := strings.NewReplacer("TOKEN", w.cookies["sid"], "FORGED", forged).Replace(tt.sent)
				var lines []string
				for _, line := range strings.Split(sent, "|") {
					lines = append(lines, "cookie: "+line)
				}
				got := strings.Join(values(w.get(lines...).received, "cookie"), "|")
				want(t, "cookies at the backend", got, tt.received)
			})
		})
	}
}

func TestForwardHeader(t *testing.T) {
	for _, forward := range []bool{true, false} {
		fields := `"forward":true`
		if !forward {
			fields = `"forward":false`
		}
		each(t, config(`"type":"Header"`, `"sessionName":"x-sid"`, fields), func(t *testing.T, w *world) {
			r := w.get()
			again := w.get("x-sid: " + r.header("x-sid"))
			want(t, "host", again.host, r.host)
			_, seen := first(again.received, "x-sid")
			want(t, "the backend sees the token", seen, forward)
		})
	}
}
