package envoy

import (
	"reflect"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
)

// This file is how a configuration of thousands of routes becomes text fast. The other files make messages of one
// thing each, a cluster, a virtual host, a listener, and need not know of it; to read what is written where, take every
// list below for one that is in its message.
//
// Three values make up nearly all of a configuration: the virtual hosts of a listener, the clusters, and the filter's
// own configuration, which is megabytes of text in every chain of filters. As part of a message they would be built,
// validated, packed and written whenever a single route changes. So the message of the whole holds a placeholder for
// each of them (newPlaceholderHost, newPlaceholderCluster, placeholder), and their text comes in its place:
//
//  1. The items of a list are written one by one, on all processors, unless HostTexts has the text of an equal virtual
//     host (renderItems).
//  2. In YAML, package protoyaml puts texts in while it writes the message, for only then is it known how far to the
//     right they stand (writeBootstrap). The filter's configuration is written once; aliases refer to it.
//  3. As protobuf's bytes, which are the same wherever they stand, items follow the message that they are a part of
//     (joinRoutes).

// placeholder is the name of what stands for all clusters, the domain of what stands for all virtual hosts, and the
// text that stands for the filter's configuration.
const placeholder = "<gap>"

// newPlaceholderHost stands for the virtual hosts of the route configuration of a name.
func newPlaceholderHost(routes string) *routev3.VirtualHost {
	return &routev3.VirtualHost{Name: routes, Domains: []string{placeholder}}
}

// HostTexts keeps what was written for virtual hosts from one time to the next; see package memo. Nil keeps nothing.
type HostTexts = *memo.Table[hostKey, *hostInputs, rendered[[]byte]]

// NewHostTexts makes an empty one.
func NewHostTexts() HostTexts { return memo.NewTable[hostKey, *hostInputs, rendered[[]byte]]() }

// hostKey names a virtual host of a route configuration, of which one form is kept.
type hostKey struct {
	routes, domain string
	sessions       bool // as in itemForm
}

// hostInputs are everything that the text of a virtual host is made from.
type hostInputs struct {
	key  hostKey
	form *itemForm
	host *ir.Host
}

// itemForm is what the texts of all items of a list depend on.
type itemForm struct {
	pinHeader string
	native    bool
	// sessions says that the route configuration turns the session filters on for routes that say nothing else.
	sessions bool
	served   bool
	binary   bool // or else in YAML
	indent   int  // of the dash, in YAML
}

// Key names the host.
func (in *hostInputs) Key() hostKey { return in.key }

// Equal reports whether other inputs have the same text.
func (in *hostInputs) Equal(other *hostInputs) bool {
	return *in.form == *other.form && reflect.DeepEqual(in.host, other.host)
}

// newEmitter makes the messages of an item. It knows nothing but what the item's text may depend on.
func (f *itemForm) newEmitter() *emitter {
	e := &emitter{served: f.served, sessions: f.sessions}
	e.settings.Plugin.PinHeader, e.settings.Native = f.pinHeader, f.native
	return e
}

// rendered is what was written for an item.
type rendered[R any] struct {
	output R
	err    error
}

// renderItems gives what is written for each item.
func renderItems[T, R any](form itemForm, items []T, write func(*emitter, *itemWriter, *T) R) ([]R, error) {
	return listOutputs(parallel.Map(items, func(some []T, results []rendered[R]) {
		w := &itemWriter{form: &form}
		for i := range some {
			results[i] = renderItem(w, &some[i], write)
		}
	}))
}

func renderItem[T, R any](w *itemWriter, item *T, write func(*emitter, *itemWriter, *T) R) rendered[R] {
	e := w.form.newEmitter()
	output := write(e, w, item)
	return rendered[R]{output, e.err}
}

// listOutputs gives what was written, or the first error.
func listOutputs[R any](all []rendered[R]) ([]R, error) {
	outputs := make([]R, len(all))
	for i, r := range all {
		if r.err != nil {
			return nil, r.err
		}
		outputs[i] = r.output
	}
	return outputs, nil
}

// itemWriter writes the items of a list in one form.
type itemWriter struct {
	form *itemForm
	yaml *protoyaml.Items
}

func (w *itemWriter) writeItem(e *emitter, m proto.Message) []byte {
	if w.form.binary {
		return e.marshalBinary(m)
	}
	e.validate(m)
	if w.yaml == nil {
		w.yaml = protoyaml.NewItems()
	}
	text, err := w.yaml.Marshal(m, w.form.indent)
	e.fail(err)
	return text
}

// renderHosts gives the texts of a site's virtual hosts, those that are kept or new ones.
func renderHosts(kept HostTexts, s site, form itemForm) ([][]byte, error) {
	return listOutputs(parallel.Map(s.hosts, func(some []ir.Host, results []rendered[[]byte]) {
		w, inputs := &itemWriter{form: &form}, make([]*hostInputs, len(some))
		for i := range some {
			host := some[i] // and not a part of the list, which would be kept with it
			inputs[i] = &hostInputs{hostKey{s.name, host.Domain, form.sessions}, &form, &host}
		}
		kept.GetSome(inputs, results, func(in *hostInputs) rendered[[]byte] {
			return renderItem(w, in.host, func(e *emitter, w *itemWriter, h *ir.Host) []byte {
				return w.writeItem(e, e.newVirtualHost(h))
			})
		})
	}))
}

// renderClusters gives the texts of clusters.
func renderClusters(clusters []ir.Cluster, form itemForm) ([][]byte, error) {
	return renderItems(form, clusters, func(e *emitter, w *itemWriter, c *ir.Cluster) []byte {
		return w.writeItem(e, e.newCluster(c))
	})
}

// RenderClusters gives clusters with their endpoints apart.
func RenderClusters(clusters []ir.Cluster) ([]Cluster, error) {
	return renderItems(itemForm{binary: true, served: true}, clusters,
		func(e *emitter, _ *itemWriter, c *ir.Cluster) Cluster { return e.newDiscoveredCluster(c) })
}

// OtherHosts is a cluster of which nothing but the hosts was another when it was written. None of them is behind a
// name.
type OtherHosts struct {
	*ir.Cluster
	Was *Cluster
}

// RenderEndpoints gives clusters of which the endpoints are written again, and nothing else.
func RenderEndpoints(clusters []OtherHosts) ([]Cluster, error) {
	return renderItems(itemForm{binary: true, served: true}, clusters,
		func(e *emitter, _ *itemWriter, c *OtherHosts) Cluster {
			now := *c.Was
			now.Endpoints = e.packEndpoints(c.Cluster)
			return now
		})
}

// writeBootstrap writes a bootstrap as YAML.
func writeBootstrap(e *emitter, bootstrap proto.Message, config *ir.Config) ([]byte, error) {
	sites := map[string]site{}
	for _, l := range config.Listeners {
		for _, s := range listSites(l) {
			sites[s.name] = s
		}
	}
	items := func(m proto.Message, indent int) (texts [][]byte, placed bool) {
		form := itemForm{pinHeader: e.settings.Plugin.PinHeader, native: e.settings.Native, indent: indent}
		var err error
		switch m := m.(type) {
		case *routev3.VirtualHost:
			if m.Domains[0] != placeholder {
				return nil, false
			}
			form.sessions = tallyHosts(sites[m.Name].hosts...).Most()
			texts, err = renderHosts(nil, sites[m.Name], form)
		case *clusterv3.Cluster:
			texts, err = renderClusters(config.Clusters, form)
		default:
			return nil, false
		}
		e.fail(err)
		return texts, true
	}
	texts := map[string]string{placeholder: string(e.settings.PluginJSON)}
	text, err := toYAML(bootstrap, protoyaml.Placeholders{Items: items, Strings: texts})
	e.fail(err)
	return text, e.err
}

// virtualHosts is the number of RouteConfiguration's field.
const virtualHosts = 2

// joinRoutes gives the route configuration of a site, whose virtual hosts are written.
func (e *emitter) joinRoutes(siteName string, hosts [][]byte, sessions bool) []byte {
	head := e.marshalBinary(e.newRouteConfiguration(siteName, 0, sessions))
	size := len(head)
	for _, host := range hosts {
		size += protowire.SizeTag(virtualHosts) + protowire.SizeBytes(len(host))
	}
	content := append(make([]byte, 0, size), head...)
	for _, host := range hosts {
		content = protowire.AppendTag(content, virtualHosts, protowire.BytesType)
		content = protowire.AppendBytes(content, host)
	}
	return content
}

// renderLimpet gives the filter with a configuration.
func (e *emitter) renderLimpet(pluginJSON []byte) []byte {
	filter := e.newConfigured(pluginJSON, string(pluginJSON))
	return e.marshalBinary(e.packExtension(FilterName(e.settings.Native), filter))
}
