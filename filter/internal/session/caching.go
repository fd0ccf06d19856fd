package session

import "strings"

// heuristic lists the statuses that a cache may store without being told to (RFC 9110 §15.1).
const heuristic = " 200 203 204 206 300 301 404 405 410 414 501 "

// storable tells whether a shared cache may store the response (RFC 9111 §3), or whether it is a 304, which
// updates a stored one. It errs on the side of yes.
func storable(h Reply) bool {
	status, _ := h.Get(":status")
	if status == "304" {
		return true
	}
	control, _ := h.Get("cache-control")
	explicit := false
	for rest := control; rest != ""; {
		var d string
		d, rest, _ = strings.Cut(rest, ",")
		switch name, _, _ := strings.Cut(strings.ToLower(trim(d)), "="); name {
		case "no-store", "private":
			return false
		case "public", "max-age", "s-maxage":
			explicit = true
		}
	}
	return explicit || hasHeader(h, "expires") || strings.Contains(heuristic, " "+status+" ")
}

// shared tells whether the response says itself that a shared cache may store it, or is a 304. It looks at no
// heuristics: most responses of applications say nothing, and caches leave those with a cookie alone.
func shared(h Reply) bool {
	if status, _ := h.Get(":status"); status == "304" {
		return true
	}
	control, _ := h.Get("cache-control")
	explicit, checked := false, false
	for rest := control; rest != ""; {
		var d string
		d, rest, _ = strings.Cut(rest, ",")
		switch name, _, _ := strings.Cut(strings.ToLower(trim(d)), "="); name {
		case "no-store", "private":
			return false
		case "no-cache":
			checked = true
		case "public", "max-age", "s-maxage":
			explicit = true
		}
	}
	if explicit || checked {
		return explicit
	}
	expires, dated := h.Get("expires")
	return dated && !past(expires)
}

// past recognises the ways in which applications say that a response has expired already: 0, -1 and dates of the last
// century.
func past(expires string) bool {
	const year = len("Thu, 01 Jan ")
	return len(expires) < year+4 || expires[year:year+2] == "19"
}

// privately turns a Cache-Control into one that shared caches may not store: what speaks to them goes, "private"
// comes, the rest stays, for "no-cache" or "no-store" say more than "private" does.
func privately(control string) string {
	out := append(make([]byte, 0, len("private, ")+len(control)), "private"...)
	for rest := control; rest != ""; {
		var d string
		d, rest, _ = strings.Cut(rest, ",")
		d = trim(d)
		switch name, _, _ := strings.Cut(strings.ToLower(d), "="); name {
		case "", "public", "private", "s-maxage", "proxy-revalidate":
		default:
			out = append(append(out, ", "...), d...)
		}
	}
	return stringOf(out)
}
