package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// Tokens knows service accounts by their tokens.
type Tokens interface {
	// Review returns the service account, NAMESPACE/NAME, of the token that a peer at an address has shown. After
	// ErrUnavailable it may be asked again.
	Review(ctx context.Context, address, token string) (account string, err error)
	// IsProxy tells whether the proxies of a Gateway have that service account.
	IsProxy(gateway, account string) bool
}

// ErrUnavailable says that a token can't be judged now.
var ErrUnavailable = errors.New("the token can't be reviewed now")

// AuthenticateByToken takes a peer that shows a token in place of a certificate for a proxy of the Gateway that its
// node's cluster names, if that has its service account. All others are authenticated otherwise.
func AuthenticateByToken(tokens Tokens, otherwise xds.Authenticate) xds.Authenticate {
	return func(ctx context.Context, from *peer.Peer) (namespace string, identify xds.Identify, err error) {
		if info, secure := from.AuthInfo.(credentials.TLSInfo); !secure || len(info.State.VerifiedChains) > 0 {
			return otherwise(ctx, from) // known by its certificate, or by being on this machine
		}
		token, shown := findToken(ctx)
		if !shown {
			return "", nil, errors.New("the client shows neither a certificate nor a token")
		}
		account, err := tokens.Review(ctx, from.Addr.String(), token)
		if errors.Is(err, ErrUnavailable) {
			return "", nil, status.Error(codes.Unavailable, err.Error())
		}
		namespace, _, _ = strings.Cut(account, "/")
		return namespace, func(node *corev3.Node) (xds.Identity, error) {
			gateway := node.GetCluster()
			if !tokens.IsProxy(gateway, account) {
				return xds.Identity{}, fmt.Errorf("service account %s is not that of the proxies of Gateway %q", account, gateway)
			}
			return xds.Identity{Gateway: gateway, Name: "serviceaccount " + account}, nil
		}, err
	}
}

// RefuseManaged sends Envoys that limpet runs to another replica, as long as this one runs none: its keys are not those
// that they open. That is so while 'limpet serve' is given --manage-proxies, and replicas of before are still there.
func RefuseManaged(authenticate xds.Authenticate) xds.Authenticate {
	return func(ctx context.Context, from *peer.Peer) (string, xds.Identify, error) {
		namespace, identify, err := authenticate(ctx, from)
		return namespace, func(node *corev3.Node) (xds.Identity, error) {
			if envoy.IsManaged(node) {
				return xds.Identity{}, status.Error(codes.Unavailable,
					"this process runs no proxies: another one has the keys of this one")
			}
			return identify(node)
		}, err
	}
}

// findToken gives the bearer token of a connection's headers.
func findToken(ctx context.Context) (token string, shown bool) {
	headers := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(headers) != 1 {
		return "", false
	}
	token, shown = strings.CutPrefix(headers[0], "Bearer ")
	return strings.TrimSpace(token), shown && token != ""
}
