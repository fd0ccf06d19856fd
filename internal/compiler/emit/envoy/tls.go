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
				ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: e.pack(e.newDownstreamTLS(h.Certificates, protocols))},
			}
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
func (e *emitter) newDownstreamTLS(certificates []ir.Certificate, protocols []string) *tlsv3.DownstreamTlsContext {
	common := &tlsv3.CommonTlsContext{AlpnProtocols: protocols}
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
