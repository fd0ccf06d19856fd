package session

// Headers is a header map of the proxy. Names are lower case. What it returns is good until the map is changed or the
// phase (request or response) ends; what it is given to keep it copies.
type Headers interface {
	// Get returns the value of the first line of that name.
	Get(name string) (string, bool)
	// All returns every line in order; it costs more than Get.
	All() [][2]string
	// Set leaves one line of that name, with that value.
	Set(name, value string)
	// Add adds a line and leaves the others of that name alone.
	Add(name, value string)
	// Remove takes every line of that name away.
	Remove(name string)
}

// Request is a request on its way to a backend.
type Request interface {
	Headers
	// Pin has the host of a token serve the request, in the form that Proxy.AppendPin made. Strict: it or none.
	Pin(host string, strict bool)
	// Within has the proxy look for another host among those of the backend with that tag, where the pinned one can't
	// serve.
	Within(backend string)
	// Lead has the proxy choose the route again, which leads to one backend of a split: the value is that of the header
	// which the route matches. Without a value the client's is taken away, should it have one.
	Lead(value string)
	// Balance leaves the choice of the host to the proxy, whatever the client would like.
	Balance()
	// Publish leaves a value as filter state, where the rest of the proxy can read it.
	Publish(key, value string)
}

// Reply is a response on its way to the client.
type Reply interface {
	Headers
	// Cluster is the name of Envoy's cluster.
	Cluster() string
	// CountWarning counts a warning of a policy.
	CountWarning(p *Policy, w Warning)
	// Chosen is the host that the proxy chose instead of the pinned one or because there was none, as "ip:port". It is
	// asked for once, and what it returns is good until another method is called.
	Chosen() (host string, ok bool)
	// Backend is the tag of the backend that the host which answered belongs to, as the cluster's endpoints have it; empty
	// for none. It is asked for where a token is written.
	Backend() string
	// CodeDetails is Envoy's word for where the response came from (response.code_details).
	CodeDetails() string
	// Attempts is how often the proxy tried to send the request, 0 where it does not say.
	Attempts() int
	// HeadersOnly tells whether the response ends with its headers.
	HeadersOnly() bool
	// Prefetch reads all lines at once, which is cheaper than to get two that are there. Get and All then show the lines
	// as they were.
	Prefetch()
	// Now is the time in seconds since the Unix epoch; it costs a host call.
	Now() int64
}

// viaUpstream is the code detail of every response that a backend gave.
const viaUpstream = "via_upstream"
