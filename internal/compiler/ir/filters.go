package ir

import "time"

// Filters are what a rule does to its requests and responses besides sending them somewhere.
type Filters struct {
	// RequestHeaders and ResponseHeaders change what backends and clients see.
	RequestHeaders, ResponseHeaders HeaderEdits
	// Redirect answers at once; nil for none.
	Redirect *Redirect
	// Rewrite changes where a backend thinks that the request goes; nil for nothing.
	Rewrite *Rewrite
	// Mirrors get copies of requests, and nobody waits for their answers.
	Mirrors []Mirror
	// CORS answers browsers that ask whether other sites may send requests; nil for what backends say.
	CORS *CORS
	// Auth asks a service whether requests may go on; nil for no question.
	Auth *ExternalAuth
}

// ExternalAuth is an authorization service. What it denies, with the answer that it gives, goes no further; nor does
// anything while it can't be asked.
type ExternalAuth struct {
	Cluster string
	// GRPC says that it speaks Envoy's protocol and sees all headers; else it gets an HTTP request with the client's
	// method, host and path, behind a prefix if there is one, and of the headers Authorization and RequestHeaders.
	GRPC           bool
	PathPrefix     string
	RequestHeaders []string
	// ResponseHeaders are those of its answer that backends see; empty for all.
	ResponseHeaders []string
	// Timeout is how long it may take; 0 leaves that to the target.
	Timeout time.Duration
	// MaxBody is how many bytes of a body it sees at most; requests with more are refused. With 0 it sees none.
	MaxBody uint32
}

// HeaderEdits are changes of headers. What is removed goes first.
type HeaderEdits struct {
	Remove   []string
	Set, Add []Pair
}

// IsEmpty reports whether nothing is changed.
func (h *HeaderEdits) IsEmpty() bool { return len(h.Remove)+len(h.Set)+len(h.Add) == 0 }

// Redirect says where clients shall go instead.
type Redirect struct {
	// Scheme and Host replace those of the request, if they are there.
	Scheme, Host string
	// Port is written behind the host; 0 writes none.
	Port uint16
	// Path replaces the request's; nil leaves it.
	Path   *PathEdit
	Status int
}

// Rewrite changes a request's host and path.
type Rewrite struct {
	// Host is empty for no change, and Path nil.
	Host string
	Path *PathEdit
}

// PathEdit replaces a path, or the part of it that a match for a prefix has matched. With an expression that ends in
// ".*" that part is what it has before this, as a text.
type PathEdit struct {
	Prefix bool
	Value  string
}

// Mirror is a cluster that gets copies of a part of the requests: Parts of a million.
type Mirror struct {
	Cluster string
	Parts   uint32
	// Remove are the headers that the copies lack: those with a session's token, and those that single backends get.
	Remove []string
	// KeepsCookies says that copies without the Cookie header get the client's cookies without tokens again.
	KeepsCookies bool
	// Add are those of the rule's own among the headers that were removed.
	Add []Pair
}

// Million is the parts of all requests.
const Million = 1_000_000
