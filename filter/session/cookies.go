package session

import (
	"strings"

	"github.com/limpet-proxy/limpet/token"
)

// nextCookie cuts the first cookie-pair off a Cookie header's value. It trims white space around name and value
// and one pair of quotes around the value, as servers do (RFC 6265 §5.4 is what user agents send; odd
// clients send more).
func nextCookie(line string) (name, value, rest string) {
	pair, rest, _ := strings.Cut(line, ";")
	name, value, _ = strings.Cut(pair, "=")
	return trim(name), unquote(trim(value)), rest
}

// trim removes spaces and tabs at both ends.
func trim(s string) string {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// withoutTokens returns the Cookie line without the cookies of that name that look like a token, and whether
// there were any. The other cookies keep every byte. A backend's own cookie of the same name is not a token
// and stays.
func withoutTokens(line, name string) (string, bool) {
	var kept []byte
	found := false
	for rest := line; rest != ""; {
		pair := rest
		n, value, after := nextCookie(rest)
		if cut := strings.IndexByte(rest, ';'); cut >= 0 {
			pair = rest[:cut]
		}
		if n == name && token.Plausible(value) {
			if !found {
				kept = append(make([]byte, 0, len(line)), line[:len(line)-len(rest)]...)
			}
			found = true
		} else if found {
			kept = append(kept, pair...)
			if after != "" {
				kept = append(kept, ';')
			}
		}
		rest = after
	}
	if !found {
		return line, false
	}
	return strings.TrimRight(trim(stringOf(kept)), "; "), true
}

// stripCookies takes the session's tokens out of every Cookie line before the backend sees them. Where nothing
// else is left the backend gets no Cookie header at all.
func stripCookies(h Headers, name string) {
	var lines []string
	found := false
	for _, kv := range h.All() {
		if kv[0] != "cookie" {
			continue
		}
		line, had := withoutTokens(kv[1], name)
		found = found || had
		if line != "" {
			lines = append(lines, line)
		}
	}
	if !found {
		return
	}
	h.Remove("cookie")
	for _, line := range lines {
		h.Add("cookie", line)
	}
}
