package gateway

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/grant"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pki"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// TLS reports whether the listener's clients speak TLS. It ends at the proxy, unless the listener passes it through.
func (l *listener) TLS() bool { return layerOf(l.spec.Protocol) == layerTLS }

// PassesThrough reports whether TLS ends at the backends.
func (l *listener) PassesThrough() bool {
	tls := l.spec.TLS
	return l.spec.Protocol == gatewayv1.TLSProtocolType && tls != nil && tls.Mode != nil &&
		*tls.Mode == gatewayv1.TLSModePassthrough
}

// layer is what listeners of a port have in common: HTTPS and TLS are told apart by server names.
type layer string

const (
	layerHTTP layer = "HTTP"
	layerTLS  layer = "TLS"
	layerTCP  layer = "TCP"
	layerUDP  layer = "UDP"
)

func layerOf(protocol gatewayv1.ProtocolType) layer {
	switch protocol {
	case gatewayv1.HTTPSProtocolType, gatewayv1.TLSProtocolType:
		return layerTLS
	case gatewayv1.TCPProtocolType:
		return layerTCP
	case gatewayv1.UDPProtocolType:
		return layerUDP
	default:
		return layerHTTP
	}
}

// Hostname is the one of its spec; "*" is every host.
func (l *listener) Hostname() string { return l.hostname }

// Certificates are those that the listener can show. Without any, one that speaks TLS serves nothing.
func (l *listener) Certificates() []ir.Certificate { return l.certificates }

// speaksTLS reports whether the listeners of a port speak TLS, which they all do or none.
func speaksTLS(port map[string]*listener) bool {
	l := anyOf(port)
	return l != nil && l.TLS()
}

// anyOf gives some listener of a port, nil if it has none: all of them are of one layer.
func anyOf(port map[string]*listener) *listener {
	for _, l := range port {
		return l
	}
	return nil
}

// leastOf gives the listener of a port whose hostname sorts first, so that equal input has equal messages; nil if it
// has none.
func leastOf(port map[string]*listener) *listener {
	if len(port) == 0 {
		return nil
	}
	return port[slices.Min(slices.Collect(maps.Keys(port)))]
}

// mixedPorts gives the ports on which a Gateway wants two protocols that can't be told apart. None of its listeners
// there may win (Gateway, spec.listeners). Those for UDP are elsewhere.
func mixedPorts(listeners []gatewayv1.Listener) map[gatewayv1.PortNumber]bool {
	first, mixed := map[gatewayv1.PortNumber]layer{}, map[gatewayv1.PortNumber]bool{}
	for _, l := range listeners {
		of := layerOf(l.Protocol)
		if of == layerUDP {
			continue
		}
		if was, met := first[l.Port]; met && was != of {
			mixed[l.Port] = true
		}
		first[l.Port] = of
	}
	return mixed
}

func (b *builder) reportConflict(l *listener, why string) {
	b.rep.WarnFor(report.CertificateNotUsable,
		l.Subject(),
		string(gatewayv1.ListenerReasonProtocolConflict),
		field.Invalid(l.path.Child("protocol"), l.spec.Protocol, why),
	)
}

// findOverlaps notes which listeners of a port have hosts in common with one that comes to it.
func (l *listener) findOverlaps(port map[string]*listener) {
	for _, other := range port {
		https := l.spec.Protocol == gatewayv1.HTTPSProtocolType && other.spec.Protocol == gatewayv1.HTTPSProtocolType
		if _, common := intersect(l.hostname, other.hostname); common && https {
			l.addOverlap(other)
			other.addOverlap(l)
		}
	}
}

func (l *listener) addOverlap(other *listener) {
	name := fmt.Sprintf("listener %s of %s", other.spec.Name, other.home().Key())
	if at, known := slices.BinarySearch(l.overlaps, name); !known {
		l.overlaps = slices.Insert(l.overlaps, at, name)
	}
}

// resolveCertificates follows a listener's references to Secrets. Those that lead nowhere are left out, and reported.
func (b *builder) resolveCertificates(l *listener) []ir.Certificate {
	if !l.TLS() || l.PassesThrough() {
		return nil
	}
	path := l.path.Child("tls", "certificateRefs")
	if l.spec.TLS == nil || len(l.spec.TLS.CertificateRefs) == 0 {
		b.reportUnresolved(l, field.Required(path, "without a certificate the listener serves nothing"))
		return nil
	}
	var found []ir.Certificate
	var left []*field.Error
	for i, ref := range l.spec.TLS.CertificateRefs {
		certificate, refused := b.resolveCertificate(l.home(), path.Index(i), ref)
		if refused != nil {
			left = append(left, refused)
			continue
		}
		found = append(found, certificate)
	}
	for _, refused := range left {
		refused.Detail += ": the listener does without this certificate"
		if len(found) == 0 {
			refused.Detail += ", has no other and serves nothing"
		}
		b.reportUnresolved(l, refused)
	}
	return found
}

// reportUnresolved reports what makes a listener's ResolvedRefs False.
func (b *builder) reportUnresolved(l *listener, e *field.Error) {
	reason := gatewayv1.ListenerReasonInvalidCertificateRef
	if e.Type == field.ErrorTypeForbidden {
		reason = gatewayv1.ListenerReasonRefNotPermitted
	}
	b.rep.WarnFor(report.CertificateNotUsable, l.Subject(), string(reason), e)
}

// resolveCertificate follows an object's reference. Its errors never show what is in the Secret.
func (b *builder) resolveCertificate(
	home object.Ref, path *field.Path, ref gatewayv1.SecretObjectReference,
) (ir.Certificate, *field.Error) {
	namespace := home.Namespace
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	wanted := object.Ref{Kind: object.KindSecret, Namespace: namespace, Name: string(ref.Name)}
	key := wanted.Key()
	from, to := grant.From{
		Kind:      home.Kind,
		Namespace: home.Namespace,
	}, grant.To{
		Kind:      "Secret",
		Namespace: namespace,
		Name:      string(ref.Name),
	}
	secret := b.secrets[key]
	switch {
	case ref.Group != nil && *ref.Group != "":
		return ir.Certificate{}, field.NotSupported(path.Child("group"), *ref.Group, []gatewayv1.Group{""})
	case ref.Kind != nil && *ref.Kind != "Secret":
		return ir.Certificate{}, field.NotSupported(path.Child("kind"), *ref.Kind, []gatewayv1.Kind{"Secret"})
	case !b.grants.Allow(from, to):
		return ir.Certificate{}, field.Forbidden(
			path.Child("namespace"),
			fmt.Sprintf("no ReferenceGrant in namespace %s allows it", namespace),
		)
	case secret == nil:
		return ir.Certificate{}, newNotFoundError(path.Child("name"), ref.Name, b.objects.Absence(wanted))
	case secret.Value.Type != corev1.SecretTypeTLS:
		return ir.Certificate{}, field.Invalid(
			path.Child("name"),
			ref.Name,
			"Secret "+key+" is not of the type kubernetes.io/tls",
		)
	}
	chain, private := secret.Value.Certificate()
	certificate, why := pki.ParseKeyPair(chain, private)
	if why != "" {
		return ir.Certificate{}, field.Invalid(path.Child("name"), ref.Name, "Secret "+key+": "+why)
	}
	certificate.Secret = key
	return certificate, nil
}
