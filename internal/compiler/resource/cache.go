package resource

import (
	"cmp"
	"hash/maphash"
	"reflect"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Cache keeps what became of documents, by their texts, from one admission to the next. It serves one at a time. The
// zero value keeps nothing.
type Cache struct {
	seed   maphash.Seed
	texts  *memo.Table[textKey, textInputs, *admittedText]
	orders sortOrders
}

// NewCache makes an empty one.
func NewCache() Cache {
	return Cache{maphash.MakeSeed(), memo.NewSilentTable[textKey, textInputs, *admittedText]("documents"), sortOrders{}}
}

// Steps are what it keeps.
func (c Cache) Steps() []memo.Step {
	steps := []memo.Step{c.texts}
	for _, o := range c.orders {
		steps = append(steps, o)
	}
	slices.SortFunc(steps[1:], func(a, b memo.Step) int { return cmp.Compare(a.Name(), b.Name()) })
	return steps
}

// sortOrders keep how objects were sorted the last time, by the type of their list; nil keeps nothing.
type sortOrders map[reflect.Type]*memo.SortOrder[any]

// sortList puts the objects of one kind in order.
func sortList[T any](orders sortOrders, list *[]*Object[T]) {
	var order *memo.SortOrder[any]
	if orders != nil {
		of := reflect.TypeFor[T]()
		if orders[of] == nil {
			orders[of] = memo.NewSortOrder[any]("order of " + of.Name())
		}
		order = orders[of]
	}
	*list = memo.Sort(order, *list, func(x *Object[T]) any { return x }, ByAge)
}

// textKey names a text by what it says. Two that say the same have objects of their own, for each stands in its own
// place: the number tells them apart.
type textKey struct {
	hash   uint64
	number int
}

// textInputs are everything that a text's documents are made from. What else may be in the file has no effect on them
// if the text is self-contained; no other is kept.
type textInputs struct {
	key     textKey
	text    *read.Text
	options *Options
}

// Key names the text.
func (in textInputs) Key() textKey { return in.key }

// Equal reports whether other inputs give equal documents.
func (in textInputs) Equal(other textInputs) bool {
	return in.options.equal(other.options) && in.text.Equal(other.text)
}

// equal reports whether documents are admitted alike under other options.
func (o *Options) equal(other *Options) bool {
	return o.Release == other.Release && o.AssumeAdmitted == other.AssumeAdmitted && o.Istio == other.Istio &&
		o.Namespace == other.Namespace && o.StrictKinds == other.StrictKinds &&
		o.ExternalControlPlane == other.ExternalControlPlane && slices.Equal(o.PlatformKinds, other.PlatformKinds)
}

// Silent reports whether a text of its own has a document, and there is nothing to say but what is about documents,
// which know where they stand.
func (t *admittedText) Silent() bool {
	return t.selfContained && t.rep.Silent() && len(t.documents) > 0
}

// Admit is [Admit] but for the texts that the last admission had, too: their documents are moved to where they stand
// now.
func (c Cache) Admit(sources []read.Source, o Options, rep *report.Report) (*Objects, error) {
	objects, _, err := c.admit(sources, o, nil, rep)
	return objects, err
}

// admit is Admit where some names are those of documents elsewhere. It gives the first document of each name, too.
func (c Cache) admit(
	sources []read.Source, o Options, elsewhere placesByName, rep *report.Report,
) (*Objects, documentsByName, error) {
	servers, err := loadAdmitters()
	if err != nil {
		return nil, nil, err
	}
	texts := read.Split(sources, rep)
	parts := c.listInputs(texts, &o)
	all := parallel.Map(parts, func(some []textInputs, results []*admittedText) {
		a := &admitter{options: o, admitters: servers}
		c.texts.GetSome(some, results, func(in textInputs) *admittedText { return a.admitText(in.text) })
	})
	moveDocuments(all, texts)
	read.ReportEmpty(texts, rep)
	objects, first := mergeTexts(all, texts, elsewhere, rep)
	objects.sortAll(c.orders)
	return objects, first, nil
}

// listInputs gives what is made from each text. Without a table nothing asks for keys.
func (c Cache) listInputs(texts []*read.Text, o *Options) []textInputs {
	parts := parallel.Map(texts, func(some []*read.Text, parts []textInputs) {
		for i, t := range some {
			parts[i] = textInputs{text: t, options: o}
			if c.texts != nil && t.IsSelfContained() {
				parts[i].key.hash = t.Hash(c.seed)
			}
		}
	})
	if c.texts == nil {
		return parts
	}
	seen := make(map[uint64]int, len(parts))
	for i := range parts {
		k := &parts[i].key
		k.number = seen[k.hash]
		seen[k.hash]++
	}
	return parts
}

// moveDocuments moves the documents of equal texts to where they stand now.
func moveDocuments(all []*admittedText, texts []*read.Text) {
	for i, t := range all {
		if !t.selfContained {
			continue
		}
		for _, d := range t.documents {
			d.MoveTo(texts[i])
		}
	}
}
