package contourapi

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// TCPProxy leads the connections for an HTTPProxy's host to services, as a TLSRoute does.
type TCPProxy struct {
	Services           []HTTPProxyService           `json:"services"`
	LoadBalancerPolicy *HTTPProxyLoadBalancerPolicy `json:"loadBalancerPolicy"`
}

// VirtualHostTLS says who ends clients' TLS: a service, or the proxy with a certificate.
type VirtualHostTLS struct {
	Passthrough bool `json:"passthrough"`
	// SecretName is a Secret's name, or its namespace and name with a slash between them.
	SecretName string `json:"secretName"`
}

// unhashedFields are those of a policy where there are no requests to hash. A strategy that hashes is reported as a
// whole.
func unhashedFields() support.Fields {
	return support.Under("loadBalancerPolicy", support.All("strategy", "requestHashPolicies"))
}

// tcpProxyNames are the names of a TLSRoute's fields in an HTTPProxy.
var tcpProxyNames = strings.NewReplacer(
	"spec.rules[0]", "spec.tcpproxy", ".backendRefs", ".services", "spec.hostnames", "spec.virtualhost.fqdn")

// validateTLS checks what an HTTPProxy has of TLS, and of connections, which are told apart by their server names.
func (s *HTTPProxySpec) validateTLS() field.ErrorList {
	tls, at, tcp := s.VirtualHost.TLS, field.NewPath("spec", "virtualhost", "tls"), field.NewPath("spec", "tcpproxy")
	var errs field.ErrorList
	switch {
	case tls == nil && s.TCPProxy != nil:
		errs = append(errs, field.Required(at, "a tcpproxy needs passthrough or secretName"))
	case tls == nil:
	case tls.Passthrough == (tls.SecretName != ""):
		errs = append(errs, field.Invalid(at, *tls, "must have one of passthrough and secretName"))
	case tls.Passthrough && s.TCPProxy == nil:
		errs = append(errs, field.Required(tcp, "TLS that passes through leads to one"))
	}
	if s.TCPProxy == nil {
		return errs
	}
	if len(s.Routes) > 0 {
		errs = append(errs, support.Lacking(field.Forbidden(tcp, "not supported together with routes")))
	}
	return append(errs, validateServices(tcp.Child("services"), s.TCPProxy.Services)...)
}

// convert gives it in terms of routes; the Secret is in the HTTPProxy's namespace unless it says otherwise.
func (t *VirtualHostTLS) convert(own string) *foreign.HostTLS {
	if t == nil {
		return nil
	}
	secret := types.NamespacedName{Namespace: own, Name: t.SecretName}
	if namespace, name, found := strings.Cut(t.SecretName, "/"); found {
		secret = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return &foreign.HostTLS{Passthrough: t.Passthrough, Secret: secret}
}
