package envoy

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
)

// RenderCache keeps the text of virtual hosts and clusters from one configuration to the next. It serves one at a time. The
// zero value keeps nothing.
type RenderCache struct {
	hosts      *memo.Table[renderKey, *rendered[ir.Host, []byte]]
	clusters   *memo.Table[renderKey, *rendered[ir.Cluster, []byte]]
	discovered *memo.Table[renderKey, *rendered[ir.Cluster, Cluster]]
}

// NewRenderCache gives one that keeps them.
func NewRenderCache() *RenderCache {
	return &RenderCache{
		hosts:      &memo.Table[renderKey, *rendered[ir.Host, []byte]]{},
		clusters:   &memo.Table[renderKey, *rendered[ir.Cluster, []byte]]{},
		discovered: &memo.Table[renderKey, *rendered[ir.Cluster, Cluster]]{},
	}
}

// Sweep forgets the texts that nobody has asked for since the last time.
func (t *RenderCache) Sweep() {
	t.hosts.Sweep()
	t.clusters.Sweep()
	t.discovered.Sweep()
}

// renderKey names a text, of which one form is kept.
type renderKey struct {
	routes string // the virtual host's; empty for a cluster
	name   string
}

// format is what a text hangs on beside what it says.
type format struct {
	pin    string // the header
	json   bool
	indent int // of the dash, in YAML
	// folder and inline are those of pieces.
	folder string
	inline bool
}

// rendered is what was written for something.
type rendered[T, W any] struct {
	format format
	source T
	output W
	err    error
}

// renderHosts gives the texts of virtual hosts.
func (e *emitter) renderHosts(routes string, hosts []ir.Host, f format) [][]byte {
	return renderItems(e, e.cache.hosts, f, hosts, func(h *ir.Host) renderKey { return renderKey{routes, h.Domain} },
		func(e *emitter, w *itemWriter, h *ir.Host) []byte {
			return w.writeItem(e, e.validate(e.newVirtualHost(h)))
		})
}

// renderClusters gives the texts of clusters.
func (e *emitter) renderClusters(clusters []ir.Cluster, f format) [][]byte {
	return renderItems(e, e.cache.clusters, f, clusters, func(c *ir.Cluster) renderKey { return renderKey{"", c.Name} },
		func(e *emitter, w *itemWriter, c *ir.Cluster) []byte {
			return w.writeItem(e, e.validate(e.newCluster(*c)))
		})
}

// renderDiscoveredClusters gives clusters with their endpoints apart.
func (e *emitter) renderDiscoveredClusters(clusters []ir.Cluster) []Cluster {
	f := format{json: true, folder: e.parts.folder, inline: e.parts.inline}
	return renderItems(e, e.cache.discovered, f, clusters, func(c *ir.Cluster) renderKey { return renderKey{"", c.Name} },
		func(e *emitter, _ *itemWriter, c *ir.Cluster) Cluster {
			settings := e.marshalResource(e.newCluster(*c))
			return Cluster{Name: c.Name, Settings: settings, Endpoints: e.marshalMessage(e.validate(e.parts.endpoints)), Inline: e.parts.inline}
		})
}

// renderItems gives what was or is written for each item. That of equal items is equal, under one form.
func renderItems[T, W any](e *emitter, table *memo.Table[renderKey, *rendered[T, W]], f format, items []T, key func(*T) renderKey,
	write func(*emitter, *itemWriter, *T) W,
) []W {
	all := parallel.Map(items, func(some []T, results []*rendered[T, W]) {
		writer := &itemWriter{format: f}
		for i := range some {
			item := &some[i]
			same := func(t *rendered[T, W]) bool { return t.format == f && reflect.DeepEqual(&t.source, item) }
			results[i] = table.Get(key(item), same, func() *rendered[T, W] {
				own := e.fork()
				written := write(own, writer, item)
				return &rendered[T, W]{f, *item, written, own.err}
			})
		}
	})
	written := make([]W, len(all))
	for i, t := range all {
		written[i] = t.output
		e.fail(t.err)
	}
	return written
}

// fork is the emitter for another goroutine.
func (e *emitter) fork() *emitter {
	own := &emitter{settings: e.settings}
	if e.parts != nil {
		own.parts = &discoveryParts{folder: e.parts.folder, inline: e.parts.inline}
	}
	return own
}

// itemWriter writes the items of a list in one form.
type itemWriter struct {
	format format
	yaml   *protoyaml.Items
}

func (w *itemWriter) writeItem(e *emitter, m proto.Message) []byte {
	if w.format.json {
		return e.marshalMessage(m)
	}
	if w.yaml == nil {
		w.yaml = protoyaml.NewItems()
	}
	text, err := w.yaml.Marshal(m, w.format.indent)
	e.fail(err)
	return text
}
