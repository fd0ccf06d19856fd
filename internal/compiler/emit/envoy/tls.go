package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// protocolsOverTLS are what clients may choose from (ALPN), the best one first.
var protocolsOverTLS = []string{"h2", "http/1.1"}

// serveTLS gives a listener a chain of filters for each site, by the server name that clients ask for. A client that
// asks for none, or for one that no site has, gets the site of every host, or its connection is closed.
func (e *emitter) serveTLS(listener *listenerv3.Listener, l ir.Listener) {
	for _, s := range listSites(l) {
		chain := e.newFilterChains(e.newManager(s))[0]
		chain.Name = s.domain
		if s.domain != "*" {
			chain.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{s.domain}}
		}
		chain.TransportSocket = &corev3.TransportSocket{
			Name:       "envoy.transport_sockets.tls",
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: e.pack(e.newDownstreamTLS(s.certificates))},
		}
		listener.FilterChains = append(listener.FilterChains, chain)
	}
	listener.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name:       "envoy.filters.listener.tls_inspector", // reads the server name
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: e.pack(&tlsinspectorv3.TlsInspector{})},
	}}
}

// newDownstreamTLS has the certificates, or, where a server gives them, their names: a listener that stays as it is then
// takes new ones without touching its connections.
func (e *emitter) newDownstreamTLS(certificates []ir.Certificate) *tlsv3.DownstreamTlsContext {
	common := &tlsv3.CommonTlsContext{AlpnProtocols: protocolsOverTLS}
	for _, c := range certificates {
		if e.files.served {
			common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs, &tlsv3.SdsSecretConfig{
				Name: secretName(c), SdsConfig: newServerSource(),
			})
			continue
		}
		common.TlsCertificates = append(common.TlsCertificates, newTLSCertificate(c))
	}
	return &tlsv3.DownstreamTlsContext{CommonTlsContext: common}
}

func newTLSCertificate(c ir.Certificate) *tlsv3.TlsCertificate {
	return &tlsv3.TlsCertificate{CertificateChain: newInlineString(c.Chain), PrivateKey: newInlineString(string(c.Key))}
}

// secretName is that of the resource with a certificate.
func secretName(c ir.Certificate) string { return "certificate/" + c.Secret }

func newInlineString(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}
