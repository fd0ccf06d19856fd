// Package tlsoptions reads the options of listeners' TLS (Gateway API, listeners.tls.options), whose keys each
// implementation names for itself.
package tlsoptions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// The keys that limpet knows, named as kgateway's are after its own domain.
const (
	MinVersion   = "limpet.dev/min-tls-version"
	MaxVersion   = "limpet.dev/max-tls-version"
	CipherSuites = "limpet.dev/cipher-suites"
	Protocols    = "limpet.dev/alpn-protocols"
)

var (
	keys     = []string{Protocols, CipherSuites, MaxVersion, MinVersion}
	versions = []string{"1.2", "1.3"} // RFC 8996 is the end of 1.0 and 1.1
	// cipherSuites are those of TLS 1.2 that HTTP/2 allows (RFC 9113, appendix A) and Envoy has.
	cipherSuites = []string{
		"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
		"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
	}
	httpProtocols = []string{"h2", "http/1.1"}
)

// Problem is what is wrong with the option of a key.
type Problem struct{ Key, Message string }

// Parse reads the options of a listener, and says of each that is not supported why, in order.
func Parse(protocol gatewayv1.ProtocolType, tls *gatewayv1.ListenerTLSConfig) (o ir.TLSOptions, problems []Problem) {
	if tls == nil || len(tls.Options) == 0 {
		return o, nil
	}
	fail := func(key, message string) { problems = append(problems, Problem{key, message}) }
	passes := tls.Mode != nil && *tls.Mode == gatewayv1.TLSModePassthrough
	for _, key := range slices.Sorted(maps.Keys(tls.Options)) {
		why := "not supported: TLS passes through, and its options are the backends'"
		if !passes {
			why = read(&o, protocol, key, string(tls.Options[key]))
		}
		if why != "" {
			fail(string(key), why)
		}
	}
	if len(problems) > 0 {
		return ir.TLSOptions{}, problems
	}
	switch {
	case o.MinVersion == "1.3" && o.MaxVersion == "1.2":
		fail(MaxVersion, fmt.Sprintf("Invalid value: %q: less than %s", o.MaxVersion, MinVersion))
	case o.MinVersion == "1.3" && len(o.CipherSuites) > 0:
		fail(CipherSuites, "not supported: those of TLS 1.3 can't be chosen, and "+MinVersion+" leaves no other version")
	}
	return o, problems
}

// read reads one option, and says what is wrong with it; empty for nothing.
func read(o *ir.TLSOptions, protocol gatewayv1.ProtocolType, key gatewayv1.AnnotationKey, value string) string {
	switch key {
	case MinVersion:
		o.MinVersion = value
		return checkAll([]string{value}, versions)
	case MaxVersion:
		o.MaxVersion = value
		return checkAll([]string{value}, versions)
	case CipherSuites:
		o.CipherSuites = split(value)
		return checkAll(o.CipherSuites, cipherSuites)
	case Protocols:
		o.Protocols = split(value)
		return checkProtocols(protocol, o.Protocols)
	default:
		return "not supported: the options that limpet knows are " + strings.Join(
			keys,
			", ",
		) + suggest.DidYouMean(
			string(key),
			keys,
		)
	}
}

func split(list string) (all []string) {
	for part := range strings.SplitSeq(list, ",") {
		all = append(all, strings.TrimSpace(part))
	}
	return all
}

// checkAll says which of some values is not among those that are supported, or there twice; empty for none.
func checkAll(values, among []string) string {
	for i, v := range values {
		switch {
		case !slices.Contains(among, v):
			return fmt.Sprintf(
				"Unsupported value: %q: supported values: %s%s",
				v,
				strings.Join(among, ", "),
				suggest.DidYouMean(v, among),
			)
		case slices.Contains(values[:i], v):
			return fmt.Sprintf("Duplicate value: %q", v)
		}
	}
	return ""
}

// checkProtocols says what is wrong with a list for ALPN. What connections carry that are not HTTP is their backends'
// affair.
func checkProtocols(protocol gatewayv1.ProtocolType, names []string) string {
	if protocol == gatewayv1.HTTPSProtocolType {
		return checkAll(names, httpProtocols)
	}
	for _, n := range names {
		if n == "" || len(n) > 255 {
			return fmt.Sprintf("Invalid value: %q: a protocol has 1 to 255 bytes (RFC 7301)", n)
		}
	}
	return checkAll(names, names)
}
