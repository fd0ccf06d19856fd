package lower

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// nowhere is the cluster without hosts: connections to it end at once, and datagrams are dropped.
const nowhere = "nowhere"

// discard stands for a backend that is none among others of datagrams, whose share must not go to these (RFC 863).
var discard = netip.MustParseAddrPort("127.0.0.1:9")

// closeTLSHost ends the connections for a server name, which keeps them from routes for more names.
func (l *lowerer) closeTLSHost(domain string) ir.TLSHost {
	return ir.TLSHost{Domain: domain, Stream: l.endStream()}
}

// lowerTLSStream gives what a server name's connections get. Where TLS should end at the proxy and there is no
// certificate, they end, or, if the name is the only one, there is nothing.
func (l *lowerer) lowerTLSStream(h gateway.Host, only bool) []ir.TLSHost {
	if l.WithoutStreams {
		return nil
	}
	host := ir.TLSHost{
		Domain: h.Domain, Certificates: h.Listener.Certificates(), Options: h.Listener.TLSOptions(),
		Stream: l.lowerStream(h, false),
	}
	if len(host.Certificates) == 0 && !h.Listener.PassesThrough() {
		if only {
			return nil
		}
		return []ir.TLSHost{l.closeTLSHost(h.Domain)}
	}
	return []ir.TLSHost{host}
}

// endStream ends connections, and drops datagrams.
func (l *lowerer) endStream() *ir.Stream {
	return &ir.Stream{Cluster: l.addCluster(ir.Cluster{Name: nowhere})}
}

// lowerStream lowers the rule that a host's connections or datagrams belong to. Without one they end. Of two rules the
// second is told that it gets nothing.
func (l *lowerer) lowerStream(h gateway.Host, udp bool) *ir.Stream {
	if len(h.Streams) == 0 {
		return l.endStream()
	}
	first, secured := h.Streams[0], !udp && !h.Listener.PassesThrough()
	l.client = h.Listener.ClientCertificate()
	client := secretOf(l.client)
	for _, m := range h.Streams[1:] {
		path := field.NewPath("spec", "rules").Index(m.Rule)
		l.resolveStream(streamKey{m.Route, m.Rule, secured, client})
		l.rep.Advise(
			report.EqualMatch,
			m.Route,
			path,
			fmt.Sprintf("%s, which goes first, has all that listener %s of Gateway %s gets%s",
				first.Route, h.Listener.Name(), h.Listener.Gateway().Key(), forDomain(h)),
		)
	}
	return l.newStream(streamKey{first.Route, first.Rule, secured, client}, udp)
}

// forDomain says in words for which host; connections without TLS have none.
func forDomain(h gateway.Host) string {
	if text := fmt.Sprint(h.Domain); text != "*" {
		return " for " + text
	}
	return ""
}

// streamKey names a rule of a route for connections. Secured ones go to their backends as BackendTLSPolicies say; where
// TLS passes through, it is the client's own.
type streamKey struct {
	route   *gateway.Route
	rule    int
	secured bool
	client  string // the Secret of the certificate that its backends see
}

func (l *lowerer) newStream(key streamKey, udp bool) *ir.Stream {
	choices := l.resolveStream(key)
	if udp && len(choices) > 1 {
		return &ir.Stream{Cluster: l.addDatagramCluster(key.route, key.rule, choices)}
	}
	s := &ir.Stream{}
	for _, c := range choices {
		if !udp {
			c = l.likeService(c)
			c.balancing = l.LoadBalancing.Unhashed(key.route.Ref())
		}
		s.Split = append(s.Split, ir.Share{Cluster: l.addStreamCluster(c), Weight: c.weight})
	}
	switch len(s.Split) {
	case 0:
		return l.endStream()
	case 1:
		s.Cluster, s.Split = s.Split[0].Cluster, nil
	}
	return s
}

// resolveStream gives the backends that get a share. What is wrong with them is said once.
func (l *lowerer) resolveStream(key streamKey) (choices []choice) {
	route, path := key.route, field.NewPath("spec", "rules").Index(key.rule)
	if known, resolved := l.streams[key]; resolved {
		return known
	}
	for i, ref := range route.Value.Spec.Rules[key.rule].BackendRefs {
		c := choice{weight: 1}
		if ref.Weight != nil {
			c.weight = uint32(*ref.Weight)
		}
		b, invalid := l.Backends.Resolve(route, path.Child("backendRefs").Index(i), ref.BackendRef)
		if invalid != nil {
			invalid.Detail += ": its share of the traffic goes nowhere"
			l.rep.WarnFor(report.BackendNotFound, route, string(backend.ReasonFor(invalid)), invalid)
		}
		if b != nil && (!key.secured || l.secure(&c, route, path.Child("backendRefs").Index(i), b)) {
			c.backend = b
		}
		if c.weight > 0 {
			choices = mergeChoice(choices, c)
		}
	}
	l.streams[key] = choices
	return choices
}

// addStreamCluster gives the cluster of a backend, which routes for HTTP may share.
func (l *lowerer) addStreamCluster(c choice) string {
	if c.backend == nil {
		return l.addCluster(ir.Cluster{Name: nowhere})
	}
	return l.addSharedCluster(c)
}

// addDatagramCluster gives a rule's own cluster of several backends, for Envoy shares datagrams out among the hosts of
// one.
func (l *lowerer) addDatagramCluster(route *gateway.Route, index int, choices []choice) string {
	cluster := ir.Cluster{Name: fmt.Sprintf("udproute/%s/rule/%d", route.Key(), index)}
	var origins []origin
	for _, c := range choices {
		locality, from := ir.Locality{
			Name:      "discard",
			Weight:    c.weight,
			Endpoints: []ir.Endpoint{{Address: discard}},
		}, origin{}
		if c.backend != nil && c.backend.Ready() {
			locality, from = ir.Locality{Name: c.backend.Name, Weight: c.weight}, newOrigin(c, true)
		}
		cluster.Localities, origins = append(cluster.Localities, locality), append(origins, from)
	}
	return l.addCluster(cluster, origins...)
}
