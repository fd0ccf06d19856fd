package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/limpet-proxy/limpet/examples/demo/backend"
)

// backendServers are running backends.
type backendServers []*http.Server

// startBackends starts one backend on each address. Every port that is taken is reported, not only the first.
func startBackends(addresses []string) (backendServers, error) {
	var (
		started  backendServers
		problems []error
	)
	for i, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			problems = append(problems, explainPort(address, err))
			continue
		}
		server := &http.Server{
			Handler:           backend.Handler(fmt.Sprintf("backend-%d", i+1)),
			ReadHeaderTimeout: 10 * time.Second,
		}
		go func() { _ = server.Serve(listener) }()
		started = append(started, server)
	}
	if len(problems) > 0 {
		started.close()
		return nil, errors.Join(problems...)
	}
	return started, nil
}

func (s backendServers) close() {
	for _, server := range s {
		_ = server.Close()
	}
}

// explainPort says what to do when a backend cannot listen.
func explainPort(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf(
			"%s is in use by another process; stop it and try again (the demo's backends need this port)",
			address,
		)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}
