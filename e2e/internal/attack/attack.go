// Package attack has the denial-of-service attacks of strangers and tenants on "limpet serve". Each goes on, from a
// number of connections, until its context ends.
package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Target is what is attacked.
type Target struct {
	// Address is that of the xDS server, and Web that of its probes.
	Address, Web string
	// TLS is how to connect there; nil for no TLS.
	TLS *tls.Config
	// Folder has the attacker's own documents.
	Folder string
	// Gateway is the key of the Gateway whose proxies the attacker may impersonate.
	Gateway string
}

// Attack is what one connection does, again and again.
type Attack func(ctx context.Context, on Target) error

// All are the attacks by name.
var All = map[string]Attack{
	"headers without end":           endlessHeaders,
	"large headers":                 largeHeaders,
	"connections that say nothing":  silence,
	"streams without a message":     withoutMessage,
	"messages without end":          endlessMessage,
	"names without end":             endlessNames,
	"names taken back":              takenBack,
	"Gateways that are not there":   otherGateways,
	"answers that are not read":     unread,
	"Envoys that come and go":       comeAndGo,
	"nodes of many parts":           manyParts,
	"web connections":               webConnections,
	"pods that change all the time": changingPods,
}

// pause is how long an attack waits after an error.
const pause = 100 * time.Millisecond

// Run attacks from many connections until ctx ends.
func (a Attack) Run(ctx context.Context, on Target, connections int) {
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				if a(ctx, on) != nil {
					select {
					case <-ctx.Done():
					case <-time.After(pause):
					}
				}
			}
		})
	}
	all.Wait()
}

// dial connects, and ends the connection with ctx.
func dial(ctx context.Context, address string, with *tls.Config) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if with != nil {
		conn = tls.Client(conn, with)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, nil
}

func (t Target) credentials() credentials.TransportCredentials {
	if t.TLS == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(t.TLS)
}

// until waits until the other side has ended a connection.
func until(conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	for buffer := make([]byte, 4096); ; {
		if _, err := conn.Read(buffer); err != nil {
			return fmt.Errorf("ended: %w", err)
		}
	}
}
