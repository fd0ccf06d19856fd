package ir

import (
	"slices"
	"strings"
)

// CORS says which sites' pages may send requests (Fetch, "CORS protocol").
type CORS struct {
	Origins []Origin
	// Methods, Headers and Expose are the values of those headers; empty writes none.
	Methods, Headers, Expose []string
	Credentials              bool
	MaxAge                   int // in seconds
}

// Origin is a site, exactly or as an RE2 expression.
type Origin struct {
	Exact, Regex string
}

// Lacks says which of the two lists keep pages of other sites from reading a header, or from sending it. A "*" stands
// for it where requests have no credentials.
func (c *CORS) Lacks(header string) (headers, expose bool) {
	lacks := func(list []string) bool {
		return !slices.ContainsFunc(list, func(h string) bool {
			return strings.EqualFold(h, header) || h == "*" && !c.Credentials
		})
	}
	return lacks(c.Headers), lacks(c.Expose)
}

// Allow lets pages of the sites read a header and send it.
func (c *CORS) Allow(header string) {
	headers, expose := c.Lacks(header)
	if headers {
		c.Headers = append(c.Headers, header)
	}
	if expose {
		c.Expose = append(c.Expose, header)
	}
}
