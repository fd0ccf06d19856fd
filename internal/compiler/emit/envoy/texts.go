package envoy

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
)

// Texts keeps the text of virtual hosts and clusters from one configuration to the next. It serves one at a time. The
// zero value keeps nothing.
type Texts struct {
	hosts      *memo.Table[textKey, *text[ir.Host, []byte]]
	clusters   *memo.Table[textKey, *text[ir.Cluster, []byte]]
	discovered *memo.Table[textKey, *text[ir.Cluster, Cluster]]
}

// NewTexts gives one that keeps them.
func NewTexts() *Texts {
	return &Texts{
		hosts:      &memo.Table[textKey, *text[ir.Host, []byte]]{},
		clusters:   &memo.Table[textKey, *text[ir.Cluster, []byte]]{},
		discovered: &memo.Table[textKey, *text[ir.Cluster, Cluster]]{},
	}
}

// Sweep forgets the texts that nobody has asked for since the last time.
func (t *Texts) Sweep() {
	t.hosts.Sweep()
	t.clusters.Sweep()
	t.discovered.Sweep()
}

// textKey names a text, of which one form is kept.
type textKey struct {
	routes string // the virtual host's; empty for a cluster
	name   string
}

// form is what a text hangs on beside what it says.
type form struct {
	pin    string // the header
	json   bool
	indent int // of the dash, in YAML
	// folder and inline are those of pieces.
	folder string
	inline bool
}

// text is what was written for something.
type text[T, W any] struct {
	form    form
	of      T
	written W
	err     error
}

// hosts gives the texts of virtual hosts.
func (e *emitter) hosts(routes string, hosts []ir.Host, f form) [][]byte {
	return texts(e, e.texts.hosts, f, hosts, func(h *ir.Host) textKey { return textKey{routes, h.Domain} },
		func(e *emitter, w *itemWriter, h *ir.Host) []byte { return w.write(e, e.valid(e.virtualHost(h))) })
}

// clusters gives the texts of clusters.
func (e *emitter) clusters(clusters []ir.Cluster, f form) [][]byte {
	return texts(e, e.texts.clusters, f, clusters, func(c *ir.Cluster) textKey { return textKey{"", c.Name} },
		func(e *emitter, w *itemWriter, c *ir.Cluster) []byte { return w.write(e, e.valid(e.cluster(*c))) })
}

// discoveredClusters gives clusters with their endpoints apart.
func (e *emitter) discoveredClusters(clusters []ir.Cluster) []Cluster {
	f := form{json: true, folder: e.pieces.folder, inline: e.pieces.inline}
	return texts(e, e.texts.discovered, f, clusters, func(c *ir.Cluster) textKey { return textKey{"", c.Name} },
		func(e *emitter, _ *itemWriter, c *ir.Cluster) Cluster {
			settings := e.resource(e.cluster(*c))
			return Cluster{Name: c.Name, Settings: settings, Endpoints: e.message(e.valid(e.pieces.endpoints)), Inline: e.pieces.inline}
		})
}

// texts gives what was or is written for each item. That of equal items is equal, under one form.
func texts[T, W any](e *emitter, kept *memo.Table[textKey, *text[T, W]], f form, items []T, key func(*T) textKey,
	write func(*emitter, *itemWriter, *T) W,
) []W {
	all := parallel.Map(items, func(some []T, results []*text[T, W]) {
		writer := &itemWriter{form: f}
		for i := range some {
			item := &some[i]
			same := func(t *text[T, W]) bool { return t.form == f && reflect.DeepEqual(&t.of, item) }
			results[i] = kept.Get(key(item), same, func() *text[T, W] {
				own := e.apart()
				written := write(own, writer, item)
				return &text[T, W]{f, *item, written, own.err}
			})
		}
	})
	written := make([]W, len(all))
	for i, t := range all {
		written[i] = t.written
		e.fail(t.err)
	}
	return written
}

// apart is the emitter for another goroutine.
func (e *emitter) apart() *emitter {
	own := &emitter{settings: e.settings}
	if e.pieces != nil {
		own.pieces = &pieces{folder: e.pieces.folder, inline: e.pieces.inline}
	}
	return own
}

// itemWriter writes the items of a list in one form.
type itemWriter struct {
	form form
	yaml *protoyaml.Items
}

func (w *itemWriter) write(e *emitter, m proto.Message) []byte {
	if w.form.json {
		return e.message(m)
	}
	if w.yaml == nil {
		w.yaml = protoyaml.NewItems()
	}
	text, err := w.yaml.Marshal(m, w.form.indent)
	e.fail(err)
	return text
}
