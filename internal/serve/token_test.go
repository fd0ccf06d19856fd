package serve

import (
	"context"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// TestRefuseManaged: a node that limpet runs is told to come back, and is not asked who it is; any other is.
func TestRefuseManaged(t *testing.T) {
	asked := 0
	identify := RefuseManaged(func(context.Context, *peer.Peer, *corev3.Node) (xds.Identity, error) {
		asked++
		return xds.Identity{Gateway: "shop/edge"}, nil
	})
	managed := func(value *structpb.Value) *structpb.Struct {
		return &structpb.Struct{Fields: map[string]*structpb.Value{"limpet.dev/managed": value}}
	}
	for name, c := range map[string]struct {
		metadata *structpb.Struct
		want     codes.Code
	}{
		"limpet runs it":         {managed(structpb.NewBoolValue(true)), codes.Unavailable},
		"others run it":          {managed(structpb.NewBoolValue(false)), codes.OK},
		"it says something else": {managed(structpb.NewStringValue("true")), codes.OK},
		"it has no metadata":     {nil, codes.OK},
	} {
		asked = 0
		who, err := identify(t.Context(), &peer.Peer{}, &corev3.Node{Id: "envoy", Metadata: c.metadata})
		passes := c.want == codes.OK
		if status.Code(err) != c.want || (asked == 1) != passes || (who.Gateway == "shop/edge") != passes {
			t.Errorf("%s: it is %+v, with %v, asked %d times; want %v", name, who, err, asked, c.want)
		}
	}
}
