package resource

import (
	"hash/maphash"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// textCache keeps what became of documents, by their texts, from one admission under the same options to the next. It
// serves one at a time. The zero value keeps nothing.
type textCache struct {
	seed  maphash.Seed
	texts *memo.Table[textKey, textInputs, *admittedText]
}

func newTextCache() textCache {
	return textCache{maphash.MakeSeed(), memo.NewSilentTable[textKey, textInputs, *admittedText]()}
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
	key  textKey
	text *read.Text
}

// Key names the text.
func (in textInputs) Key() textKey { return in.key }

// Equal reports whether other inputs give equal documents.
func (in textInputs) Equal(other textInputs) bool { return in.text.Equal(other.text) }

// Silent reports whether a text of its own has a document, and there is nothing to say but what is about documents,
// which know where they stand.
func (t *admittedText) Silent() bool {
	return t.selfContained && t.rep.Silent() && len(t.documents) > 0
}

// admit is Admit where some names are those of documents elsewhere. It gives the first document of each name, too.
func (c textCache) admit(
	sources []read.Source, o Options, elsewhere placesByName, rep *report.Report,
) (*part, documentsByName, error) {
	servers, err := loadAdmitters()
	if err != nil {
		return nil, nil, err
	}
	texts := read.Split(sources, rep)
	parts := c.listInputs(texts)
	all := parallel.Map(parts, func(some []textInputs, results []*admittedText) {
		a := &admitter{options: o, admitters: servers}
		if c.texts != nil {
			c.texts.GetSome(some, results, func(in textInputs) *admittedText { return a.admitText(in.text) })
			return
		}
		for i, in := range some {
			results[i] = a.admitText(in.text)
		}
	})
	moveDocuments(all, texts)
	read.ReportEmpty(texts, rep)
	objects, first := mergeTexts(all, texts, elsewhere, rep)
	objects.sortAll()
	return objects, first, nil
}

// listInputs gives what is made from each text. Without a table nothing asks for keys.
func (c textCache) listInputs(texts []*read.Text) []textInputs {
	parts := parallel.Map(texts, func(some []*read.Text, parts []textInputs) {
		for i, t := range some {
			parts[i] = textInputs{text: t}
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
