package serve

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// TestRefuseManaged: a node with the bootstrap of those that limpet runs is told to come back, and is not asked who it is; any other is.
func TestRefuseManaged(t *testing.T) {
	asked := 0
	authenticate := RefuseManaged(func(context.Context, *peer.Peer) (string, xds.Identify, error) {
		return "", func(*corev3.Node) (xds.Identity, error) {
			asked++
			return xds.Identity{Gateway: "shop/edge"}, nil
		}, nil
	})
	for ready, want := range map[netip.AddrPort]codes.Code{
		netip.MustParseAddrPort("0.0.0.0:19001"): codes.Unavailable,
		{}:                                       codes.OK,
	} {
		asked = 0
		text, err := envoy.ServerBootstrap{Gateway: "shop/edge", Server: "127.0.0.1:18000", Ready: ready}.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var bootstrap struct{ Node json.RawMessage }
		if err := yaml.Unmarshal(text, &bootstrap); err != nil {
			t.Fatal(err)
		}
		node := &corev3.Node{}
		if err := protojson.Unmarshal(bootstrap.Node, node); err != nil {
			t.Fatal(err)
		}
		_, identify, err := authenticate(t.Context(), &peer.Peer{})
		if err != nil {
			t.Fatal(err)
		}
		who, err := identify(node)
		passes := want == codes.OK
		if status.Code(err) != want || (asked == 1) != passes || (who.Gateway == "shop/edge") != passes {
			t.Errorf("ready at %s: it is %+v, with %v, asked %d times; want %v", ready, who, err, asked, want)
		}
	}
}
