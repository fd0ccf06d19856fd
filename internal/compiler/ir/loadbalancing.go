package ir

import "time"

// Balancing is how requests that no session pins are spread over a cluster's hosts.
type Balancing string

// The ways: in turn, to the host with fewer requests of two, at random, and by the route's hashes.
const (
	RoundRobin   Balancing = ""
	LeastRequest Balancing = "least-request"
	Random       Balancing = "random"
	RequestHash  Balancing = "hash"
)

// Hash is an attribute of a request that is hashed where the cluster balances by hash. Exactly one of Header,
// Cookie, Query and SourceIP is set. A request without any of a route's attributes goes to a random host.
type Hash struct {
	// Terminal ends the list when the request has the attribute.
	Terminal bool
	// Header is a header's name in lower case.
	Header string
	// Rewrite is an RE2 expression for what Replacement takes the place of in the header's value; empty for nothing.
	Rewrite, Replacement string
	// Cookie is a cookie's name. With a TTL, in whole seconds, the proxy makes one up for clients that have none,
	// with that Path; 0 is the browser session.
	Cookie string
	TTL    *time.Duration
	Path   string
	// Query is the name of a parameter of the URL's query.
	Query string
	// SourceIP is the client's address.
	SourceIP bool
}

// Equal compares the values.
func (h Hash) Equal(other Hash) bool {
	same := h.TTL == nil && other.TTL == nil || h.TTL != nil && other.TTL != nil && *h.TTL == *other.TTL
	h.TTL, other.TTL = nil, nil
	return same && h == other
}

// RetryBudget caps a cluster's retries.
type RetryBudget struct {
	// Percent of the requests of the last Interval, and of those under way, may be retries.
	Percent  int
	Interval time.Duration
	// MinConcurrency so many retries may be under way at once, whatever the share.
	MinConcurrency int
}
