package envoy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/proto"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Entrance is where clients get in: a listener, and the hostnames that it serves.
type Entrance struct {
	ListenerAddress
	// TLS says that requests come over TLS, and HTTP that there are requests at all.
	TLS, HTTP bool
	// Domains are the hostnames; "*" is any. Those of a listener that passes connections on are not known.
	Domains []string
	// Try is a request that is answered by a rule with sessions, or by any if none has some.
	Try *TryRequest
}

// TryRequest is a request of a client.
type TryRequest struct {
	Domain, Path string
	// Header is that of the session; empty for a cookie. Session says that there is one.
	Header  string
	Session bool
}

// Entrances are those of a configuration, in the order of its listeners.
func (s *Served) Entrances() ([]Entrance, error) {
	all := make([]Entrance, len(s.Listeners))
	for i, l := range s.Listeners {
		all[i].ListenerAddress = s.Addresses[i]
		for _, routes := range s.Routes {
			rest, found := strings.CutPrefix(routes.Name, l.Name)
			site := strings.TrimSuffix(rest, nativeSuffix)
			if !found || site != "" && site[0] != '/' { // another port that begins alike
				continue
			}
			config := &routev3.RouteConfiguration{}
			if err := proto.Unmarshal(routes.Content, config); err != nil {
				return nil, fmt.Errorf("routes %s: %w", routes.Name, err)
			}
			all[i].add(config, site != "")
		}
	}
	return all, nil
}

// add adds what is served by the routes of a site.
func (e *Entrance) add(config *routev3.RouteConfiguration, tls bool) {
	e.TLS, e.HTTP = tls, true
	for _, host := range config.VirtualHosts {
		if len(host.Routes) == 0 {
			continue // it answers 404
		}
		for _, domain := range host.Domains {
			if !strings.Contains(domain, ":") && !slices.Contains(e.Domains, domain) { // with a port it is the same one
				e.Domains = append(e.Domains, domain)
			}
		}
		for _, route := range host.Routes {
			try := newTryRequest(host, route)
			if try != nil && (e.Try == nil || try.Session && !e.Try.Session) {
				e.Try = try
			}
		}
	}
}

// newTryRequest is a request that a route takes; nil where that asks for more than a path.
func newTryRequest(host *routev3.VirtualHost, route *routev3.Route) *TryRequest {
	m := route.GetMatch()
	path := cmp.Or(m.GetPathSeparatedPrefix(), m.GetPath(), m.GetPrefix())
	if path == "" || len(m.GetHeaders())+len(m.GetQueryParameters()) > 0 || m.GetGrpc() != nil {
		return nil
	}
	try := &TryRequest{Domain: host.Domains[0], Path: path}
	fields := route.GetMetadata().GetFilterMetadata()[policyconfig.RouteMetadata].GetFields()
	text := fields[policyconfig.RouteField].GetStringValue()
	if first := gjson.Get(text, "0"); first.Exists() {
		try.Session = true
		if first.Get("type").String() == string(policyconfig.TypeHeader) {
			try.Header = first.Get("sessionName").String()
		}
	}
	return try
}
