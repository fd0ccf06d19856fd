package session

// Headers is a header map of the proxy. Names are lower case. What it returns is good until the phase (request or
// response) ends, and All's lines until the next All; what it is given to keep it copies.
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

// Reply is a response on its way to the client.
type Reply interface {
	Headers
	// CodeDetails is Envoy's word for where the response came from (response.code_details).
	CodeDetails() string
	// HeadersOnly tells whether the response ends with its headers.
	HeadersOnly() bool
	// Prefetch reads all lines at once, which is cheaper than to get two that are there. Get and All then show the lines as
	// they were.
	Prefetch()
	// Now is the time in seconds since the Unix epoch; it costs a host call.
	Now() int64
}

// viaUpstream is the code detail of every response that a backend gave.
const viaUpstream = "via_upstream"
