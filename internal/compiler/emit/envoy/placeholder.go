package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// placeholders are the lists that a message does not hold. One item stands for all of a list; the texts of the items, most of
// which were written for an earlier configuration, come in its place.
type placeholders struct {
	hosts    map[string][]ir.Host // by the name of their routes, which is the gap's
	clusters []ir.Cluster
}

// placeholder is the name of what stands for all clusters, the domain of what stands for all virtual hosts, and the text that
// stands for the filter's configuration.
const placeholder = "<gap>"

// addHosts gives the virtual host that stands for those of some routes.
func (g *placeholders) addHosts(routes string, hosts []ir.Host) *routev3.VirtualHost {
	if g.hosts == nil {
		g.hosts = map[string][]ir.Host{}
	}
	g.hosts[routes] = hosts
	return &routev3.VirtualHost{Name: routes, Domains: []string{placeholder}}
}

// fillItems fills the gaps of a message that is written as YAML.
func (e *emitter) fillItems(m proto.Message, indent int) (items [][]byte, filled bool) {
	f := format{pin: e.settings.Plugin.PinHeader, indent: indent}
	switch m := m.(type) {
	case *routev3.VirtualHost:
		if hosts, left := e.placeholders.hosts[m.Name]; left {
			return e.renderHosts(m.Name, hosts, f), true
		}
	case *clusterv3.Cluster:
		return e.renderClusters(e.placeholders.clusters, f), true
	}
	return nil, false
}

// fillRoutes fills the gap in the JSON of routes.
func (e *emitter) fillRoutes(text []byte, routes *routev3.RouteConfiguration) []byte {
	if len(routes.VirtualHosts) == 0 || e.err != nil {
		return text
	}
	before, after := e.cutAround(text, e.marshalMessage(routes.VirtualHosts[0]))
	hosts := e.renderHosts(routes.Name, e.placeholders.hosts[routes.Name], format{pin: e.settings.Plugin.PinHeader, json: true})
	return bytes.Join([][]byte{before, bytes.Join(hosts, []byte(",")), after}, nil)
}

// cutAround gives what stands before and after a gap in some JSON.
func (e *emitter) cutAround(text, part []byte) (before, after []byte) {
	before, after, found := bytes.Cut(text, part)
	if !found {
		e.fail(fmt.Errorf("the gap %s is not in its place", part))
	}
	return before, after
}

// quoteJSON is text as a string of JSON, with nothing escaped for HTML, as protojson writes it.
func (e *emitter) quoteJSON(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	e.fail(encoder.Encode(text))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
