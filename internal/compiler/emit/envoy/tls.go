package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// protocolsOverTLS are what clients may choose from (ALPN), the best one first.
var protocolsOverTLS = []string{"h2", "http/1.1"}

// serveTLS gives a listener a chain of filters for each site, by the server name that clients ask for. A client that
// asks for none, or for one that no site has, gets the site of every host, or its connection is closed.
func (e *emitter) serveTLS(listener *listenerv3.Listener, l ir.Listener) {
	sites := listSites(l)
	for _, h := range l.TLSHosts {
		var chain *listenerv3.FilterChain
		protocols := protocolsOverTLS
		if h.Stream != nil {
			chain, protocols = e.newStreamChain(l, h.Stream), nil
		} else {
			chain, sites = e.newFilterChains(e.newManager(sites[0]))[0], sites[1:]
		}
		chain.Name = h.Domain
		if h.Domain != "*" {
			chain.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{h.Domain}}
		}
		if len(h.Certificates) > 0 {
			chain.TransportSocket = &corev3.TransportSocket{
				Name:       "envoy.transport_sockets.tls",
				ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: e.pack(e.newDownstreamTLS(h, protocols))},
			}
		}
		listener.FilterChains = append(listener.FilterChains, chain)
	}
	listener.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name:       "envoy.filters.listener.tls_inspector", // reads the server name
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: e.pack(&tlsinspectorv3.TlsInspector{})},
	}}
}

// newDownstreamTLS has the certificates, or, where a server gives them, their names: a listener that stays as it is
// then takes new ones without touching its connections.
func (e *emitter) newDownstreamTLS(h ir.TLSHost, protocols []string) *tlsv3.DownstreamTlsContext {
	if len(h.Options.Protocols) > 0 {
		protocols = h.Options.Protocols
	}
	out := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		AlpnProtocols: protocols, TlsParams: newTLSParameters(&h.Options),
	}}
	for _, c := range h.Certificates {
		e.addCertificate(out.CommonTlsContext, c)
	}
	if h.Clients == nil {
		return out
	}
	// Authorities are here and not in a secret of their own: when one goes, so do the connections that it vouched for.
	validation := &tlsv3.CertificateValidationContext{TrustedCa: newInlineString(h.Clients.Authorities)}
	if h.Clients.AllowInvalid {
		validation.TrustChainVerification = tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
	}
	out.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: validation}
	out.RequireClientCertificate = wrapperspb.Bool(!h.Clients.AllowInvalid)
	return out
}

// addCertificate adds what is shown to the peer.
func (e *emitter) addCertificate(common *tlsv3.CommonTlsContext, c ir.Certificate) {
	if e.served {
		common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs, &tlsv3.SdsSecretConfig{
			Name: secretName(c), SdsConfig: newServerSource(),
		})
		return
	}
	common.TlsCertificates = append(common.TlsCertificates, newTLSCertificate(c))
}

// tlsVersions are Envoy's names of the versions of TLS.
var tlsVersions = map[string]tlsv3.TlsParameters_TlsProtocol{
	"1.2": tlsv3.TlsParameters_TLSv1_2, "1.3": tlsv3.TlsParameters_TLSv1_3,
}

// newTLSParameters are a listener's restrictions, nil for none.
func newTLSParameters(o *ir.TLSOptions) *tlsv3.TlsParameters {
	if o.MinVersion == "" && o.MaxVersion == "" && len(o.CipherSuites) == 0 {
		return nil
	}
	return &tlsv3.TlsParameters{
		TlsMinimumProtocolVersion: tlsVersions[o.MinVersion], TlsMaximumProtocolVersion: tlsVersions[o.MaxVersion],
		CipherSuites: o.CipherSuites,
	}
}

func newTLSCertificate(c ir.Certificate) *tlsv3.TlsCertificate {
	return &tlsv3.TlsCertificate{CertificateChain: newInlineString(c.Chain), PrivateKey: newInlineString(string(c.Key))}
}

// secretName is that of the resource with a certificate.
func secretName(c ir.Certificate) string { return "certificate/" + c.Secret }

func newInlineString(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}
