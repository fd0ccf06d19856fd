package compiler

import (
	"net/netip"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// Served says what a configuration for a server depends on besides the documents.
type Served struct {
	// Together gives one configuration, for proxies that serve all Gateways, which may share ports. Without it each
	// Gateway has proxies of its own.
	Together bool
	// Draining says since when hosts terminate that still serve; those that are not in it begin at Options.Time.
	Draining map[HostKey]time.Time
	// Owners says what is remembered of addresses: whose they were, and are.
	Owners map[HostKey]HostOwner
	// Selection says which pods Services selected before, and which they have left.
	Selection *Selection
	// Nodes are the machines of the cluster; nil where they are not known.
	Nodes *Nodes
	// Scopes gives the proxies of each Gateway the keys of the scopes that it serves, in place of Options.Keys; nil for
	// none.
	Scopes *ScopeKeys
	// Telemetry gives a Gateway's own settings of access log and tracing; nil where no Gateway has any.
	Telemetry func(gateway string) Telemetry
	// Own are the addresses at which the server itself listens: no endpoint is there.
	Own []netip.AddrPort
	// Remote says that Envoys run on other machines: no loopback address is an endpoint.
	Remote bool
	// Rejected has, by the key of their Gateway, what Envoys said of resources that they rejected, for Check.
	Rejected map[string]string
	// Proxies has, by their keys, how the proxies do that are run for Gateways, for Check, and ClassParameters, by names,
	// what is wrong with classes' parametersRef.
	Proxies         map[string]Proxies
	ClassParameters map[string]string
	// Unacknowledged has, by their keys, the Gateways whose listeners no connected Envoy has acknowledged, for Check.
	Unacknowledged map[string]Unacknowledged
	// Ended has the routes of which edits have ended sessions, for Check.
	Ended map[object.Ref]Ended
}

// Ended are the sessions of a route that edits have ended.
type Ended = status.Ended

// TellEnded is how long a condition tells of such sessions.
const TellEnded = status.TellEnded

// Unacknowledged is a Gateway whose listeners no connected Envoy has acknowledged.
type Unacknowledged = status.Unacknowledged

// Proxies is how the proxies do that are run for a Gateway.
type Proxies = status.Proxies

// Telemetry is the access log and the tracing of a Gateway's proxies.
type Telemetry = envoy.Telemetry

// telemetryOf returns the access log and the tracing of a Gateway's proxies.
func (s *Served) telemetryOf(gateway string) Telemetry {
	if s.Telemetry == nil {
		return Telemetry{}
	}
	return s.Telemetry(gateway)
}

// Selection is which pods Services select, and which they have left that run on.
type Selection = backend.Selection

// SelectedPod is a pod that a Service selects, or did.
type SelectedPod = backend.SelectedPod

// Nodes are the machines of a cluster, and who has Pods on their network.
type Nodes = backend.Nodes

// NewSelection is the selection of some pods, by their keys.
func NewSelection(pods map[string]*SelectedPod) *Selection { return backend.NewSelection(pods) }

// HostOwner is what is remembered of an address.
type HostOwner = ir.HostOwner

// HostKey names an address in a namespace.
type HostKey = ir.HostKey

// PodAt is a pod at an address.
type PodAt = ir.PodAt
