package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"sigs.k8s.io/yaml"
)

// AddHTTP3 gives the TLS listener a twin for HTTP/3 on the UDP port of the same number, as an operator would who adds
// it to the compiled configuration: the compiler makes listeners for TCP only.
func (tree Tree) AddHTTP3(t testing.TB, port int) {
	t.Helper()
	static := tree["static_resources"].(map[string]any)
	twin := tree.listener(t, port)
	twin["name"] = "http3"
	twin["address"].(map[string]any)["socket_address"].(map[string]any)["protocol"] = "UDP"
	twin["udp_listener_config"] = map[string]any{"quic_options": map[string]any{}}
	delete(twin, "listener_filters") // QUIC brings the server name itself
	for _, socket := range twin.Find(Named("envoy.transport_sockets.tls", "typed_config")) {
		context := socket["typed_config"].(map[string]any)
		delete(context["common_tls_context"].(map[string]any), "alpn_protocols")
		delete(context, "@type")
		socket["name"] = "envoy.transport_sockets.quic"
		socket["typed_config"] = map[string]any{
			"@type":                  "type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport",
			"downstream_tls_context": context,
		}
	}
	for _, filter := range twin.Find(Named("envoy.filters.network.http_connection_manager", "typed_config")) {
		manager := filter["typed_config"].(map[string]any)
		manager["codec_type"] = "HTTP3"
		delete(manager, "http2_protocol_options")
		delete(manager, "upgrade_configs")
	}
	static["listeners"] = append(static["listeners"].([]any), map[string]any(twin))
}

// listener is a copy of the listener on a port.
func (tree Tree) listener(t testing.TB, port int) Tree {
	t.Helper()
	found := tree.One(t, "listener", func(m map[string]any) bool {
		address, _ := m["address"].(map[string]any)
		socket, _ := address["socket_address"].(map[string]any)
		_, serves := m["filter_chains"]
		return serves && socket["port_value"] == float64(port)
	})
	text, err := yaml.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	return parseTree(t, text)
}

// HTTP3 makes the client speak HTTP/3 only; call it after TLS.
func (c *Client) HTTP3(t testing.TB) *Client {
	t.Helper()
	config := c.http.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{http3.NextProtoH3}
	config.MinVersion = tls.VersionTLS13
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dialer := &quic.Transport{Conn: packets{socket}}
	transport := &http3.Transport{
		TLSClientConfig: config,
		Dial: func(ctx context.Context, address string, config *tls.Config, options *quic.Config) (*quic.Conn, error) {
			to, err := net.ResolveUDPAddr("udp", address)
			if err != nil {
				return nil, err
			}
			return dialer.DialEarly(ctx, to, config, options)
		},
	}
	t.Cleanup(func() { _ = errors.Join(transport.Close(), dialer.Close(), socket.Close()) })
	c.http.Transport = transport
	return c
}

// packets hides from quic-go that a socket is a UDP socket of the system. Otherwise quic-go hands the kernel many
// packets in one piece (GSO). On the loopback nothing cuts these up, and Envoy drops them.
type packets struct{ net.PacketConn }

// SetReadBuffer and SetWriteBuffer are what quic-go asks a socket for.
func (p packets) SetReadBuffer(bytes int) error {
	return p.PacketConn.(*net.UDPConn).SetReadBuffer(bytes)
}

func (p packets) SetWriteBuffer(bytes int) error {
	return p.PacketConn.(*net.UDPConn).SetWriteBuffer(bytes)
}
