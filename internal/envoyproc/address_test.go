package envoyproc

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

func TestBootstrapAddresses(t *testing.T) {
	const listeners = `static_resources:
  listeners:
  - {address: {socket_address: {address: 0.0.0.0, port_value: 80}}}
  - {address: {envoy_internal_address: {server_listener_name: inside}}}
  - {address: {socket_address: {address: "::", port_value: 443}}}
`
	web, tls := Address{"0.0.0.0:80", listenerAdvice}, Address{"[::]:443", listenerAdvice}
	for name, c := range map[string]struct {
		text string
		want []Address
	}{
		"nothing":   {"{}", nil},
		"listeners": {listeners, []Address{web, tls}},
		"admin": {
			listeners + "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}\n",
			[]Address{web, tls, {"127.0.0.1:9901", adminAdvice}},
		},
	} {
		if got, err := BootstrapAddresses([]byte(c.text)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, c.want)
		}
	}
	if _, err := BootstrapAddresses([]byte("static_resources: [")); err == nil {
		t.Error("half a document has addresses")
	}
}

func TestListenerAddresses(t *testing.T) {
	content, err := proto.Marshal(&listenerv3.Listener{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
		SocketAddress: &corev3.SocketAddress{Address: "::1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 81}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got := ListenerAddresses([]envoy.Resource{{Content: content}})
	if want := []Address{{"[::1]:81", listenerAdvice}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCheckFree names every address that can't be had, and why; it leaves those that can free.
func TestCheckFree(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	addresses := []Address{
		{free.Addr().String(), "do nothing"},
		{taken.Addr().String(), "do this"},
		{"192.0.2.1:80", "do that"}, // of RFC 5737, which no machine has
	}
	err = CheckFree(addresses)
	want := taken.Addr().String() + " is in use by another process; stop it, or do this\n" +
		"192.0.2.1:80 is not an address of this machine; do that"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	unusable := FindUnusable(addresses)
	if unknown := unusable[netip.MustParseAddrPort("192.0.2.1:80")]; len(unusable) != 2 ||
		unknown != "192.0.2.1:80 is not an address of this machine; do that" {
		t.Errorf("unusable: %v", unusable)
	}
	for range 2 {
		if err := CheckFree(addresses[:1]); err != nil {
			t.Error(err)
		}
	}
	err = CheckFree([]Address{{"127.0.0.1:none", ""}})
	if err == nil || !strings.HasPrefix(err.Error(), "listen on 127.0.0.1:none: ") {
		t.Errorf("got %v for a port that is none", err)
	}
}
