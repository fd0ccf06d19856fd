package envoy

import (
	"fmt"
	"net/netip"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limpet-proxy/limpet/compiler/emit/protoyaml"
)

// header stands at the top of every file.
const header = "# Written by limpet from Gateway API objects; change those and compile again.\n"

// toYAML writes a message with its keys in alphabetical order, so that equal messages give equal bytes.
func toYAML(m proto.Message) ([]byte, error) {
	text, err := protoyaml.Marshal(m)
	return append([]byte(header), text...), err
}

// pack wraps a message that Envoy finds by its type. Validating the whole does not look inside, so it happens here.
func (e *emitter) pack(m proto.Message) *anypb.Any {
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil && e.err == nil {
			e.err = fmt.Errorf("the Envoy configuration is not valid: %w", err)
		}
	}
	packed, err := anypb.New(m)
	if err != nil && e.err == nil {
		e.err = err
	}
	return packed
}

// extension is a message under the name of the extension that it configures.
func (e *emitter) extension(name string, m proto.Message) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: name, TypedConfig: e.pack(m)}
}

// address is a TCP address.
func address(at netip.AddrPort) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       at.Addr().String(),
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(at.Port())},
	}}}
}

func seconds(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Second) }
