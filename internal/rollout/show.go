package rollout

import (
	"encoding/json"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	dynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/dynamic_modules/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Show gives what is in a file of a discovery folder as YAML, for people. It hides keys.
func Show(data []byte) ([]byte, error) {
	content := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(data, content); err != nil || len(content.GetVersionInfo()) == 0 {
		return nil, fmt.Errorf("it is no file of a discovery folder, which hold protobuf's bytes")
	}
	if err := hideKeys(content); err != nil {
		return nil, err
	}
	return protoyaml.Marshal(content)
}

// hidden stands for what is secret.
const hidden = "[secret]"

// hideKeys takes keys out of a message: certificates' private ones, and the filter's.
func hideKeys(m proto.Message) (err error) {
	switch m := m.(type) {
	case *anypb.Any:
		return hidePacked(m)
	case *tlsv3.TlsCertificate:
		m.PrivateKey = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: hidden}}
	case *wasmv3.PluginConfig:
		return hideRing(m.GetConfiguration())
	case *dynamicmodulesv3.DynamicModuleFilter:
		return hideRing(m.GetFilterConfig())
	}
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := 0; err == nil && i < value.List().Len(); i++ {
				err = hideKeys(value.List().Get(i).Message().Interface())
			}
		case !field.IsMap():
			err = hideKeys(value.Message().Interface())
		case field.MapValue().Message() != nil:
			value.Map().Range(func(_ protoreflect.MapKey, item protoreflect.Value) bool {
				err = hideKeys(item.Message().Interface())
				return err == nil
			})
		}
		return err == nil
	})
	return err
}

func hidePacked(packed *anypb.Any) error {
	if packed.GetTypeUrl() == "" {
		return nil
	}
	m, err := packed.UnmarshalNew()
	if err != nil {
		return err
	}
	if err := hideKeys(m); err != nil {
		return err
	}
	return packed.MarshalFrom(m)
}

// hideRing takes the secrets of keys out of the filter's configuration. A text that is none is not shown at all.
func hideRing(c *anypb.Any) error {
	text, shown := &wrapperspb.StringValue{}, []byte(hidden)
	if err := c.UnmarshalTo(text); err != nil {
		return err
	}
	if plugin, errs := policyconfig.Parse(text.GetValue()); len(errs) == 0 {
		shown, _ = json.Marshal(plugin) // which can be written, for it was read; a Secret writes itself as hidden
	}
	return c.MarshalFrom(wrapperspb.String(string(shown)))
}
