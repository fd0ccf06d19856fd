package serve

import (
	"encoding/json"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// masked stands for what is not shown.
const masked = "[masked]"

// dump is a snapshot for people, without anything that must not be seen.
func dump(s *xds.Snapshot) map[string]any {
	all := map[string]any{"generation": s.Generation}
	for t := xds.Cluster; t <= xds.Listener; t++ {
		named := map[string]any{}
		for _, r := range s.Resources(t) {
			named[r.Name] = map[string]any{"version": r.Version, "content": dumpResource(t, r)}
		}
		all[t.String()] = named
	}
	return all
}

// dumpResource shows a resource. Of those that may hold keys no more is shown than what is known to hold none.
func dumpResource(t xds.Type, r *xds.Resource) any {
	m, err := r.Body().UnmarshalNew()
	if err != nil {
		return masked
	}
	switch m := m.(type) {
	case *tlsv3.Secret:
		certificate := m.GetTlsCertificate()
		if certificate == nil {
			return masked
		}
		certificate.PrivateKey = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: masked}}
	case *corev3.TypedExtensionConfig:
		return dumpFilter(r)
	case *routev3.RouteConfiguration:
		maskKeys(m)
	case *routev3.ScopedRouteConfiguration:
		maskKeys(m.GetRouteConfiguration())
	default:
		if t == xds.Secret || t == xds.Filter {
			return masked
		}
	}
	return toJSON(m)
}

// dumpFilter shows the filter's configuration without its keys, be they sealed or not.
func dumpFilter(r *xds.Resource) any {
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.Origin, &fields) != nil {
		return masked
	}
	if fields["keys"] != nil {
		fields["keys"] = json.RawMessage(`"` + masked + `"`)
	}
	return fields
}

// maskKeys takes the sealed keys out of the routes of a table.
func maskKeys(table *routev3.RouteConfiguration) {
	for _, host := range table.GetVirtualHosts() {
		for _, route := range host.GetRoutes() {
			fields := route.GetMetadata().GetFilterMetadata()[policyconfig.RouteMetadata].GetFields()
			text, has := fields[policyconfig.RouteField]
			if keys, policies := policyconfig.CutKeys(text.GetStringValue()); has && keys != "" {
				fields[policyconfig.RouteField] = structpb.NewStringValue(masked + policies)
			}
		}
	}
}

func toJSON(m proto.Message) any {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return masked
	}
	return json.RawMessage(text)
}
