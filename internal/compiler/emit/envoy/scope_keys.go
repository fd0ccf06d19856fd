package envoy

import (
	"errors"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// ScopeKeys is what proxies get of a key ring in its place: those of a Gateway get the keys of the scopes that it
// serves, sealed under a root secret of the Gateway's own.
//
// Virtual hosts are written without keys, which are put into them at the end: another ring changes nothing else, and
// those who write virtual hosts need not know whose proxies they are for.
type ScopeKeys struct {
	Ring *token.Ring
	Root token.Root
}

// GatewayKeys are the [ScopeKeys] of one Gateway.
type GatewayKeys struct {
	from *ScopeKeys
	id   string
	root token.Root
}

// Of gives those of a Gateway, by its [token.GatewayID].
func (k *ScopeKeys) Of(id string) *GatewayKeys { return &GatewayKeys{k, id, k.Root.ForGateway(id)} }

// AreOf tells whether they are those of a Gateway, in some keys.
func (k *GatewayKeys) AreOf(all *ScopeKeys, id string) bool {
	return k != nil && k.from == all && k.id == id
}

// WithKeys gives an assembly for the proxies of a Gateway that get keys in this way. The filter's configuration has no
// more of them than the Gateway's id, so that it stays what it is when there is another route or another ring.
func (a Assembly) WithKeys(k *GatewayKeys) (Assembly, error) {
	keys := policyconfig.Keys{Gateway: k.id}
	config, text, err := plugin.EmitApart(nil, plugin.GlobalOf(a.Settings.Plugin, keys))
	a.Settings.Plugin, a.Settings.PluginJSON = config, text
	return a, err
}

// listScopes gives the scopes of the sessions of each of a host's routes.
func listScopes(h *ir.Host) [][]string {
	all := make([][]string, len(h.Routes))
	for i := range h.Routes {
		if r := &h.Routes[i]; r.Sticky {
			all[i] = policyconfig.RouteScopes(r.Name, r.Policies)
		}
	}
	return all
}

// WrittenHost is a virtual host in bytes, with the scopes of each of its routes.
type WrittenHost struct {
	Content []byte
	Scopes  [][]string
}

// AddKeys puts the keys of their scopes into the routes of virtual hosts.
func (k *GatewayKeys) AddKeys(hosts []WrittenHost) ([][]byte, error) {
	type keyed struct {
		content []byte
		err     error
	}
	all := parallel.Map(hosts, func(some []WrittenHost, results []keyed) {
		for i, h := range some {
			results[i].content, results[i].err = k.addToHost(h)
		}
	})
	contents := make([][]byte, len(all))
	for i, one := range all {
		if one.err != nil {
			return nil, one.err
		}
		contents[i] = one.content
	}
	return contents, nil
}

// The numbers of fields of VirtualHost and Route.
const (
	hostRoutes    = 3
	routeMetadata = 4
	routeName     = 14
)

var errWire = errors.New("not a virtual host")

func (k *GatewayKeys) addToHost(h WrittenHost) ([]byte, error) {
	content, route := make([]byte, 0, len(h.Content)+len(h.Content)/2), 0
	err := eachField(h.Content, func(number protowire.Number, field, value []byte) error {
		if number != hostRoutes {
			content = append(content, field...)
			return nil
		}
		keyed, err := k.addToRoute(value, h.Scopes[route])
		content = protowire.AppendBytes(protowire.AppendTag(content, hostRoutes, protowire.BytesType), keyed)
		route++
		return err
	})
	return content, err
}

// addToRoute seals the keys of a route's scopes and puts them in front of its policies, which changes its name.
func (k *GatewayKeys) addToRoute(route []byte, scopes []string) ([]byte, error) {
	if len(scopes) == 0 {
		return route, nil
	}
	sealed := make([]string, len(scopes))
	for i, scope := range scopes {
		var err error
		if sealed[i], err = k.from.Ring.SealScope(&k.root, scope); err != nil {
			return nil, fmt.Errorf("the keys of scope %s: %w", scope, err)
		}
	}
	name, metadata := "", &corev3.Metadata{}
	keyed := make([]byte, 0, 2*len(route))
	err := eachField(route, func(number protowire.Number, field, value []byte) error {
		switch number {
		case routeName:
			name = string(value)
		case routeMetadata:
			return proto.Unmarshal(value, metadata)
		default:
			keyed = append(keyed, field...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	text := metadata.GetFilterMetadata()[policyconfig.RouteMetadata].GetFields()[policyconfig.RouteField].GetStringValue()
	name, text = policyconfig.KeyRoute(name, text, sealed)
	packed, err := proto.MarshalOptions{Deterministic: true}.Marshal(newPolicyMetadata(text))
	keyed = protowire.AppendBytes(protowire.AppendTag(keyed, routeMetadata, protowire.BytesType), packed)
	return protowire.AppendString(protowire.AppendTag(keyed, routeName, protowire.BytesType), name), err
}

// eachField visits the fields of a message: the whole field, and the bytes of its value where it is a text or message.
func eachField(message []byte, visit func(number protowire.Number, field, value []byte) error) error {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errWire
		}
		end := protowire.ConsumeFieldValue(number, kind, message[size:])
		if end < 0 {
			return errWire
		}
		field := message[:size+end]
		var value []byte
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(field[size:])
		}
		if err := visit(number, field, value); err != nil {
			return err
		}
		message = message[size+end:]
	}
	return nil
}
