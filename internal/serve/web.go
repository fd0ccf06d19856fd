package serve

import (
	"net"
	"net/http"
	"time"

	"github.com/limpet-proxy/limpet/internal/callers"
)

// mostWeb is how many unidentified connections a web server has. The oldest go where there are
// more.
const mostWeb = 256

// ListenForWeb listens for clients of a web server.
func ListenForWeb(address string) (net.Listener, error) {
	at, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return (&callers.Gate{Most: mostWeb}).Listen(at), nil
}

// NewWeb makes a web server for whoever may reach it: a request is small and comes at once, and a connection without
// any ends. An answer may take long, for a profile does.
func NewWeb(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 30 * time.Second,
		MaxHeaderBytes: maxHeaders,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: 8, WriteByteTimeout: 10 * time.Second},
	}
}
