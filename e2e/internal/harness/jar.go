package harness

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Jar keeps cookies as curl does for http://127.0.0.1: Secure ones too, which net/http/cookiejar sends over
// HTTPS only, even to the loopback. It serves one origin; it is not safe for concurrent use.
type Jar struct {
	cookies []stored
}

type stored struct {
	name, value, path string
	expires           time.Time // zero: ends with the browser session
}

// Set takes over what the Set-Cookie headers of a response to a request for path say (RFC 6265 §5.3):
// a cookie whose lifetime is over is deleted.
func (j *Jar) Set(path string, setCookies []*http.Cookie) {
	for _, c := range setCookies {
		entry := stored{name: c.Name, value: c.Value, path: c.Path, expires: expiry(c)}
		if !strings.HasPrefix(entry.path, "/") {
			entry.path = defaultPath(path)
		}
		j.cookies = slices.DeleteFunc(j.cookies, func(old stored) bool {
			return old.name == entry.name && old.path == entry.path
		})
		if entry.alive() {
			j.cookies = append(j.cookies, entry)
		}
	}
}

// Header is the Cookie header for a request for path, empty if the jar has no cookie for it.
// Longer paths come first (RFC 6265 §5.4).
func (j *Jar) Header(path string) string {
	var fit []stored
	for _, c := range j.cookies {
		if c.alive() && pathMatches(path, c.path) {
			fit = append(fit, c)
		}
	}
	slices.SortStableFunc(fit, func(a, b stored) int { return len(b.path) - len(a.path) })
	var pairs []string
	for _, c := range fit {
		pairs = append(pairs, c.name+"="+c.value)
	}
	return strings.Join(pairs, "; ")
}

// Value is the value of the first living cookie of that name, empty if there is none.
func (j *Jar) Value(name string) string {
	for _, c := range j.cookies {
		if c.name == name && c.alive() {
			return c.value
		}
	}
	return ""
}

func (c stored) alive() bool { return c.expires.IsZero() || time.Now().Before(c.expires) }

func expiry(c *http.Cookie) time.Time {
	switch {
	case c.MaxAge < 0: // how net/http shows Max-Age=0 and less
		return time.Unix(1, 0)
	case c.MaxAge > 0:
		return time.Now().Add(time.Duration(c.MaxAge) * time.Second)
	default:
		return c.Expires
	}
}

func defaultPath(path string) string {
	if last := strings.LastIndexByte(path, '/'); last > 0 {
		return path[:last]
	}
	return "/"
}

func pathMatches(request, cookie string) bool {
	if !strings.HasPrefix(request, cookie) {
		return false
	}
	return len(request) == len(cookie) || strings.HasSuffix(cookie, "/") || request[len(cookie)] == '/'
}
