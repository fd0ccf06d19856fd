package serve

import (
	"encoding/json"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestDumpMasksKeysOfRoutes: of the policies of a route all is shown, and nothing of the sealed keys in front of them.
func TestDumpMasksKeysOfRoutes(t *testing.T) {
	const policies = `[{"sessionName":"cart"}]`
	_, text := policyconfig.KeyRoute("r#0123456789abcdef", policies, []string{"1.sealedkeys", "1.others"})
	table := &routev3.RouteConfiguration{}
	for _, text := range []string{text, policies} {
		table.VirtualHosts = append(table.VirtualHosts, &routev3.VirtualHost{Routes: []*routev3.Route{{
			Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{policyconfig.RouteMetadata: {
				Fields: map[string]*structpb.Value{policyconfig.RouteField: structpb.NewStringValue(text)},
			}}},
		}, {}}})
	}
	content, err := proto.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(dumpResource(xds.Routes, xds.NewResource(xds.Routes, "web", content)))
	if err != nil || strings.Contains(string(shown), "1.") || strings.Count(string(shown), `[{\"sessionName\":\"cart\"}]`) != 2 ||
		strings.Count(string(shown), "[masked]") != 1 {
		t.Errorf("%v: %s", err, shown)
	}
}
