// Package backendtls reads BackendTLSPolicies, and what XBackends say of TLS themselves: to which ports requests go
// over TLS, and whom the hosts must be.
package backendtls

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pki"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Policies are those of the input, by what they hold on. Nil has none.
type Policies struct {
	at map[object.TargetRef]*Effective
	// secrets are by namespace/name.
	secrets map[string]*resource.Object[resource.Secret]
	// absence says why a Secret is not among them.
	absence func(object.Ref) string
}

// Effective is the policy that holds on a Service, or a port of one, or an XBackend's own word.
type Effective struct {
	Policy object.Ref
	// TLS is nil for a policy that can't be honoured: nothing may be sent then.
	TLS *ir.UpstreamTLS
}

// Services tells of the Services of an input.
type Services struct {
	// Find gives one that was admitted, nil for none, and Absence says why one, or another object, was not.
	Find    func(object.Ref) *resource.Object[corev1.Service]
	Absence func(object.Ref) string
}

// New reads the policies. Of two on one target the older holds; one on a port holds before one on the whole Service.
// What is wrong goes to the report.
func New(objects *resource.Objects, rep *report.Report) *Policies {
	services := map[object.Ref]*service{}
	if len(objects.BackendTLS) > 0 {
		for _, s := range objects.Services {
			services[s.Ref()] = s
		}
	}
	return NewPart(objects, Services{func(ref object.Ref) *service { return services[ref] }, objects.Absence}, rep)
}

// NewPart is New where the Services are not among the objects.
func NewPart(objects *resource.Objects, services Services, rep *report.Report) *Policies {
	r := &reader{services: services, rep: rep, configMaps: map[string]*resource.Object[resource.ConfigMap]{}}
	for _, c := range objects.ConfigMaps {
		r.configMaps[c.Key()] = c
	}
	all := &Policies{
		at: map[object.TargetRef]*Effective{}, secrets: map[string]*resource.Object[resource.Secret]{},
		absence: services.Absence,
	}
	for _, s := range objects.Secrets {
		all.secrets[s.Key()] = s
	}
	for _, b := range objects.Backends {
		if v := b.Value.Validation(); v != nil {
			ref := b.Ref()
			all.at[object.TargetRef{Ref: ref}] = &Effective{
				Policy: ref,
				TLS:    r.readValidation(b, field.NewPath("spec", "tls", "validation"), v),
			}
		}
	}
	for _, p := range objects.BackendTLS {
		tls := r.read(p)
		for i, ref := range p.Value.Spec.TargetRefs {
			target, path := TargetOf(p, ref), field.NewPath("spec", "targetRefs").Index(i)
			if why, reason := r.refuseTarget(ref, target); why != nil {
				why.Field = path.String()
				rep.WarnFor(report.BackendTLS, p, reason, why)
				continue
			}
			if first := all.at[target]; first != nil {
				rep.WarnForAt(report.PolicyConflict, p, report.ReasonConflicted, path.String(),
					first.Policy.String()+", which goes first, has this target")
				continue
			}
			all.at[target] = &Effective{Policy: p.Ref(), TLS: tls}
		}
	}
	return all
}

// TargetOf is what a targetRef leads to.
func TargetOf(p *resource.BackendTLSPolicy, ref gatewayv1.LocalPolicyTargetReferenceWithSectionName) object.TargetRef {
	t := object.TargetRef{Ref: object.Ref{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)}}
	if ref.SectionName != nil {
		t.Section = string(*ref.SectionName)
	}
	return t
}

// For gives the policy that holds on a port of a Service; nil for none.
func (p *Policies) For(port object.TargetRef) *Effective {
	if p == nil {
		return nil
	}
	if at := p.at[port]; at != nil {
		return at
	}
	return p.at[object.TargetRef{Ref: port.Ref}]
}

// Has reports whether a policy holds on a port of a Service.
func (p *Policies) Has(port object.TargetRef) bool { return p.For(port) != nil }

type reader struct {
	services   Services
	rep        *report.Report
	configMaps map[string]*resource.Object[resource.ConfigMap]
}

// refuseTarget says why a policy can't hold on a target; nil if it can.
func (r *reader) refuseTarget(
	ref gatewayv1.LocalPolicyTargetReferenceWithSectionName, target object.TargetRef,
) (*field.Error, string) {
	if ref.Group != "" || ref.Kind != object.KindService {
		return field.Invalid(nil, ref.Kind, "policies of this kind attach to Services only"), report.ReasonInvalid
	}
	s := r.services.Find(target.Ref)
	if s == nil {
		e := field.NotFound(nil, ref.Name)
		e.Detail = r.services.Absence(target.Ref)
		return e, report.ReasonTargetNotFound
	}
	if target.Section != "" && !hasPort(s, target.Section) {
		e := field.NotFound(nil, target.Section)
		e.Detail = resource.SectionAbsence(target)
		return e, report.ReasonTargetNotFound
	}
	return nil, ""
}

// read gives what a policy asks for; nil if that can't be done.
func (r *reader) read(p *resource.BackendTLSPolicy) *ir.UpstreamTLS {
	valid := true
	for _, f := range p.Faults {
		valid = false
		r.rep.ErrorForAt(report.BackendTLS, p, report.ReasonInvalid, f.Path, f.Message+": requests to its targets get 500")
	}
	tls := r.readValidation(p, field.NewPath("spec", "validation"), &p.Value.Spec.Validation)
	if !valid {
		return nil
	}
	return tls
}

// asker asks for TLS: a BackendTLSPolicy, or an XBackend.
type asker interface {
	report.Subject
	Origin() object.Origin
}

// readValidation gives whom hosts must be; nil if nothing can be verified.
func (r *reader) readValidation(by asker, path *field.Path, v *gatewayv1.BackendTLSPolicyValidation) *ir.UpstreamTLS {
	tls, refs := &ir.UpstreamTLS{ServerName: string(v.Hostname)}, path.Child("caCertificateRefs")
	for i, ref := range v.CACertificateRefs {
		tls.Authorities += r.readAuthorities(by, refs.Index(i), ref)
	}
	if v.WellKnownCACertificates == nil && tls.Authorities == "" {
		r.rep.WarnForAt(report.BackendTLS, by, string(gatewayv1.BackendTLSPolicyReasonNoValidCACertificate), refs.String(),
			"without a certificate of an authority nothing can be verified: requests to its targets get 500")
		return nil
	}
	for _, name := range v.SubjectAltNames {
		if name.Type == gatewayv1.URISubjectAltNameType {
			tls.Names = append(tls.Names, ir.SubjectName{Value: string(name.URI), URI: true})
		} else {
			tls.Names = append(tls.Names, ir.SubjectName{Value: string(name.Hostname)})
		}
	}
	if len(tls.Names) == 0 {
		tls.Names = []ir.SubjectName{{Value: tls.ServerName}}
	}
	return tls
}

// readAuthorities gives the certificates that a reference leads to; empty, with a report, if there are none.
func (r *reader) readAuthorities(p asker, path *field.Path, ref gatewayv1.LocalObjectReference) string {
	if ref.Group != "" || ref.Kind != object.KindConfigMap {
		r.rep.WarnFor(report.BackendTLS, p, string(gatewayv1.BackendTLSPolicyReasonInvalidKind),
			field.NotSupported(path.Child("kind"), ref.Kind, []string{object.KindConfigMap}))
		return ""
	}
	wanted := object.Ref{Kind: object.KindConfigMap, Namespace: p.Origin().Namespace, Name: string(ref.Name)}
	key, why := wanted.Key(), ""
	if c := r.configMaps[key]; c == nil {
		why = r.services.Absence(wanted)
	} else if text := pki.ParseAuthorities(c.Value.Authorities); text != "" {
		return text
	} else {
		why = "ConfigMap " + key + " has no certificates in PEM under the key ca.crt"
	}
	e := field.Invalid(path.Child("name"), ref.Name, why)
	r.rep.WarnFor(report.BackendTLS, p, string(gatewayv1.BackendTLSPolicyReasonInvalidCACertificateRef), e)
	return ""
}
