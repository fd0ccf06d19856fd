package gateway

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/grant"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pki"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/tlsoptions"
)

// clientValidation is how clients' certificates are verified (Gateway, spec.tls.frontend).
type clientValidation struct {
	place report.Place
	// by is nil where no certificate could be verified: the listener is left out then.
	by *ir.ClientValidation
}

// clientValidations are the client validations of a Gateway: the default, and those of single ports, which may be none.
type clientValidations struct {
	byDefault *clientValidation
	perPort   map[gatewayv1.PortNumber]*clientValidation
}

// findFor gives the validation that holds for a listener, nil for none. Those that do not speak HTTPS have none.
func (v clientValidations) findFor(l *listener) *clientValidation {
	if l.spec.Protocol != gatewayv1.HTTPSProtocolType {
		return nil
	}
	if own, has := v.perPort[l.spec.Port]; has {
		return own
	}
	return v.byDefault
}

// allowInvalid reports whether one of them lets clients in that fail it.
func (v clientValidations) allowInvalid() bool {
	for _, p := range v.perPort {
		if p != nil && p.by != nil && p.by.AllowInvalid {
			return true
		}
	}
	return v.byDefault != nil && v.byDefault.by != nil && v.byDefault.by.AllowInvalid
}

// readClientValidations reads the client validations of a Gateway. It reports an error once, however many listeners
// have it.
func (b *builder) readClientValidations(g *resource.Object[gatewayv1.Gateway]) (v clientValidations) {
	if b.isolated || g.Value.Spec.TLS == nil || g.Value.Spec.TLS.Frontend == nil {
		return v
	}
	frontend, path := g.Value.Spec.TLS.Frontend, field.NewPath("spec", "tls", "frontend")
	v.byDefault = b.readClientValidation(g, path.Child("default", "validation"), frontend.Default.Validation)
	v.perPort = map[gatewayv1.PortNumber]*clientValidation{}
	for i, p := range frontend.PerPort {
		at := path.Child("perPort").Index(i)
		v.perPort[p.Port] = b.readClientValidation(g, at.Child("tls", "validation"), p.TLS.Validation)
		if !b.speaksHTTPS(g, p.Port) {
			b.rep.Advise(report.ClientValidationAdvice, g, at.Child("port"),
				fmt.Sprintf("no HTTPS listener of %s has port %d: nothing is verified there", g, p.Port))
		}
	}
	return v
}

// speaksHTTPS reports whether a Gateway wants an HTTPS listener on a port, by itself or by a ListenerSet.
func (b *builder) speaksHTTPS(g *resource.Object[gatewayv1.Gateway], port gatewayv1.PortNumber) bool {
	for _, l := range g.Value.Spec.Listeners {
		if l.Port == port && l.Protocol == gatewayv1.HTTPSProtocolType {
			return true
		}
	}
	for _, set := range b.sets[g.Key()] {
		for _, l := range set.Value.Spec.Listeners {
			if l.Port == port && l.Protocol == gatewayv1.HTTPSProtocolType {
				return true
			}
		}
	}
	return false
}

func (b *builder) readClientValidation(
	g *resource.Object[gatewayv1.Gateway], path *field.Path, spec *gatewayv1.FrontendTLSValidation,
) *clientValidation {
	if spec == nil {
		return nil
	}
	v := &clientValidation{place: report.PlaceOf(path.String())}
	var authorities strings.Builder
	refs := path.Child("caCertificateRefs")
	for i, ref := range spec.CACertificateRefs {
		text, reason, refused := b.resolveAuthorities(g.Ref(), refs.Index(i), ref)
		if refused != nil {
			b.rep.WarnFor(report.ClientValidation, g, string(reason), refused)
		}
		authorities.WriteString(text)
	}
	if authorities.Len() == 0 {
		b.rep.WarnForAt(report.ClientValidation, g, string(gatewayv1.ListenerReasonNoValidCACertificate), refs.String(),
			"without a certificate of an authority no client can be verified: the HTTPS listeners that it is for are left out")
		return v
	}
	v.by = &ir.ClientValidation{
		Authorities:  authorities.String(),
		AllowInvalid: spec.Mode == gatewayv1.AllowInsecureFallback,
	}
	if v.by.AllowInvalid {
		b.rep.Advise(report.ClientValidationAdvice, g, path.Child("mode"),
			"clients get in without a certificate, and with one that no authority vouches for")
	}
	return v
}

// resolveAuthorities gives the certificates that a reference leads to, or says why there are none.
func (b *builder) resolveAuthorities(
	home object.Ref, path *field.Path, ref gatewayv1.ObjectReference,
) (text string, reason gatewayv1.ListenerConditionReason, refused *field.Error) {
	namespace := home.Namespace
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	kind, key := string(ref.Kind), namespace+"/"+string(ref.Name)
	from := grant.From{Kind: home.Kind, Namespace: home.Namespace}
	switch {
	case ref.Group != "" || kind != object.KindConfigMap && kind != object.KindSecret:
		return "", gatewayv1.ListenerReasonInvalidCACertificateKind,
			field.NotSupported(path.Child("kind"), kind, []string{object.KindConfigMap, object.KindSecret})
	case !b.grants.Allow(from, grant.To{Kind: kind, Namespace: namespace, Name: string(ref.Name)}):
		return "", gatewayv1.ListenerReasonRefNotPermitted,
			field.Forbidden(path.Child("namespace"), fmt.Sprintf("no ReferenceGrant in namespace %s allows it", namespace))
	}
	found, there := b.findAuthorities(kind, key)
	if text = pki.ParseAuthorities(found); text != "" {
		return text, "", nil
	}
	why := fmt.Sprintf("%s %s has no certificates in PEM under the key ca.crt", kind, key)
	switch wanted := (object.Ref{Kind: kind, Namespace: namespace, Name: string(ref.Name)}); {
	case there:
	case kind == object.KindSecret && !b.objects.IsRefused(wanted):
		why = fmt.Sprintf("there is no Secret %s of the type kubernetes.io/tls in the input", key)
	default:
		why = b.objects.Absence(wanted)
	}
	return "", gatewayv1.ListenerReasonInvalidCACertificateRef, field.Invalid(path.Child("name"), ref.Name, why)
}

// findAuthorities returns the ca.crt of a ConfigMap, or of a Secret of the type kubernetes.io/tls, and whether there is
// such an object.
func (b *builder) findAuthorities(kind, key string) (text string, there bool) {
	if s := b.secrets[key]; kind == object.KindSecret && s != nil && s.Value.Type == corev1.SecretTypeTLS {
		return s.Value.Authorities(), true
	}
	if c := b.configMaps[key]; kind == object.KindConfigMap && c != nil {
		return c.Value.Authorities, true
	}
	return "", false
}

// resolveClientCertificate gives the certificate that a Gateway shows backends, nil for none.
func (b *builder) resolveClientCertificate(g *resource.Object[gatewayv1.Gateway]) *ir.Certificate {
	if b.isolated || g.Value.Spec.TLS == nil || g.Value.Spec.TLS.Backend == nil ||
		g.Value.Spec.TLS.Backend.ClientCertificateRef == nil {
		return nil
	}
	path := field.NewPath("spec", "tls", "backend", "clientCertificateRef")
	certificate, refused := b.resolveCertificate(g.Ref(), path, *g.Value.Spec.TLS.Backend.ClientCertificateRef)
	if refused == nil {
		return &certificate
	}
	reason := gatewayv1.GatewayReasonInvalidClientCertificateRef
	if refused.Type == field.ErrorTypeForbidden {
		reason = gatewayv1.GatewayReasonRefNotPermitted
	}
	refused.Detail += ": the Gateway shows backends no certificate"
	b.rep.WarnFor(report.ClientValidation, g, string(reason), refused)
	return nil
}

// ClientValidation is how certificates of the listener's clients are verified; nil for not at all.
func (l *listener) ClientValidation() *ir.ClientValidation { return l.validation }

// TLSOptions are what the listener's owner restricts TLS to. Faulty ones are found at admission.
func (l *listener) TLSOptions() ir.TLSOptions {
	options, _ := tlsoptions.Parse(l.spec.Protocol, l.spec.TLS)
	return options
}

// ClientCertificate is what its Gateway shows backends that it speaks TLS with; nil for nothing.
func (l *listener) ClientCertificate() *ir.Certificate { return l.clientCertificate }
