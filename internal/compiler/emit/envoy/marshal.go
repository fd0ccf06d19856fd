package envoy

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
)

// header stands at the top of every file.
const header = "# Written by limpet from Gateway API objects; change those and compile again.\n"

// toYAML writes a message with its keys in alphabetical order, so that equal messages give equal bytes.
func toYAML(m proto.Message, fills protoyaml.Placeholders) ([]byte, error) {
	parts, err := protoyaml.MarshalWith(m, fills)
	return bytes.Join(append([][]byte{[]byte(header)}, parts...), nil), err
}

// marshalBinary validates a message and gives its bytes, the same for equal ones.
func (e *emitter) marshalBinary(m proto.Message) []byte {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(e.validate(m))
	e.fail(err)
	return content
}

// fail keeps the first error.
func (e *emitter) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// validate keeps the first error of those that a message has.
func (e *emitter) validate(m proto.Message) proto.Message {
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			e.fail(fmt.Errorf("the Envoy configuration is not valid: %w", err))
		}
	}
	return m
}

// pack wraps a message that Envoy finds by its type, in the same bytes for equal ones. Validating the whole does not
// look inside, so it happens here.
func (e *emitter) pack(m proto.Message) *anypb.Any {
	packed := &anypb.Any{}
	e.fail(anypb.MarshalFrom(packed, e.validate(m), proto.MarshalOptions{Deterministic: true}))
	return packed
}

// packExtension is a message under the name of the extension that it configures.
func (e *emitter) packExtension(name string, m proto.Message) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: name, TypedConfig: e.pack(m)}
}

// newAddress is a TCP address.
func newAddress(at netip.AddrPort) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       at.Addr().String(),
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(at.Port())},
	}}}
}

func seconds(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Second) }
