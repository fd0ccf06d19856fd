package envoy

import (
	"bytes"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/compiler/ir"
)

// gaps are the lists that a message does not hold. One item stands for all of a list; the texts of the items, most of
// which were written for an earlier configuration, come in its place.
type gaps struct {
	hosts    map[string][]ir.Host // by the name of their routes, which is the gap's
	clusters []ir.Cluster
}

// gap is the name of what stands for all clusters, the domain of what stands for all virtual hosts, and the text that
// stands for the filter's configuration.
const gap = "<gap>"

// leave gives the virtual host that stands for those of some routes.
func (g *gaps) leave(routes string, hosts []ir.Host) *routev3.VirtualHost {
	if g.hosts == nil {
		g.hosts = map[string][]ir.Host{}
	}
	g.hosts[routes] = hosts
	return &routev3.VirtualHost{Name: routes, Domains: []string{gap}}
}

// items fills the gaps of a message that is written as YAML.
func (e *emitter) items(m proto.Message, indent int) (items [][]byte, yes bool) {
	f := form{pin: e.settings.Plugin.PinHeader, indent: indent}
	switch m := m.(type) {
	case *routev3.VirtualHost:
		if hosts, left := e.gaps.hosts[m.Name]; left {
			return e.hosts(m.Name, hosts, f), true
		}
	case *clusterv3.Cluster:
		return e.clusters(e.gaps.clusters, f), true
	}
	return nil, false
}

// filled fills the gap in the JSON of routes.
func (e *emitter) filled(text []byte, routes *routev3.RouteConfiguration) []byte {
	if len(routes.VirtualHosts) == 0 || e.err != nil {
		return text
	}
	before, after, found := bytes.Cut(text, e.message(routes.VirtualHosts[0]))
	if !found {
		e.fail(fmt.Errorf("the routes %s have no place for their virtual hosts", routes.Name))
	}
	hosts := e.hosts(routes.Name, e.gaps.hosts[routes.Name], form{pin: e.settings.Plugin.PinHeader, json: true})
	return bytes.Join([][]byte{before, bytes.Join(hosts, []byte(",")), after}, nil)
}

// quoted appends text as a string of JSON, which protojson writes so too. It is UTF-8, for it was read from JSON.
func quoted(to []byte, text string) []byte {
	to = append(to, '"')
	begin := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, text[begin:i]...)
		begin = i + 1
		switch c {
		case '\n':
			to = append(to, `\n`...)
		case '"', '\\':
			to = append(to, '\\', c)
		default:
			to = fmt.Appendf(to, `\u%04x`, c)
		}
	}
	return append(append(to, text[begin:]...), '"')
}
