package envoy

import (
	"regexp"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// systemAuthorities is the file with the certificates of those whom Envoy's machine trusts, where Debian, Ubuntu,
// Alpine and Envoy's own images have it.
const systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

// socketMatch is the metadata by which Envoy tells the hosts of a cluster apart that are spoken to in different ways.
const socketMatch = "envoy.transport_socket_match"

// secure gives a cluster TLS. Of a merged one each backend has its own, and Envoy's own answers, which have no
// metadata, none.
func (e *emitter) secure(out *clusterv3.Cluster, c *ir.Cluster) {
	for i, p := range c.Localities {
		if p.TLS == nil {
			continue
		}
		socket := e.newUpstreamSocket(p.TLS, c.HTTP2)
		if !isMerged(c) {
			out.TransportSocket = socket
			return
		}
		out.TransportSocketMatches = append(out.TransportSocketMatches, &clusterv3.Cluster_TransportSocketMatch{
			Name: strconv.Itoa(i), Match: newSocketMatch(i), TransportSocket: socket,
		})
	}
}

func newSocketMatch(locality int) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"tls": structpb.NewStringValue(strconv.Itoa(locality))}}
}

// markSecure marks the first hosts of a locality for their TLS; those after them answer in the backend's place.
func markSecure(l *endpointv3.LocalityLbEndpoints, hosts, locality int) {
	for _, host := range l.LbEndpoints[:hosts] {
		describeEndpoint(host, socketMatch, newSocketMatch(locality))
	}
}

func (e *emitter) newUpstreamSocket(t *ir.UpstreamTLS, http2 bool) *corev3.TransportSocket {
	var protocols []string // HTTP/1.1 needs none, and what is not HTTP has no name here
	if http2 {
		protocols = []string{"h2"}
	}
	validation := &tlsv3.CertificateValidationContext{TrustedCa: newInlineString(t.Authorities)}
	if t.Authorities == "" {
		validation.TrustedCa = &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: systemAuthorities}}
	}
	for _, name := range t.Names {
		validation.MatchTypedSubjectAltNames = append(validation.MatchTypedSubjectAltNames, newNameMatcher(name))
	}
	common := &tlsv3.CommonTlsContext{
		AlpnProtocols:         protocols,
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: validation},
	}
	if t.Client != nil {
		e.addCertificate(common, *t.Client)
	}
	return &corev3.TransportSocket{
		Name: "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: e.pack(&tlsv3.UpstreamTlsContext{
			Sni: t.ServerName, CommonTlsContext: common,
		})},
	}
}

// newNameMatcher wants a name in a certificate. A host's may be there as a wildcard, which Envoy sees to; a wildcard
// that is asked for means any single label.
func newNameMatcher(n ir.SubjectName) *tlsv3.SubjectAltNameMatcher {
	m := &tlsv3.SubjectAltNameMatcher{
		SanType: tlsv3.SubjectAltNameMatcher_DNS,
		Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: n.Value}},
	}
	if n.URI {
		m.SanType = tlsv3.SubjectAltNameMatcher_URI
	} else if parent, wild := strings.CutPrefix(n.Value, "*."); wild {
		m.Matcher.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{
			Regex: `[^.]+\.` + regexp.QuoteMeta(parent),
		}}
	}
	return m
}
