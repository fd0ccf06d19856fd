package resource

import (
	"hash/maphash"
	"reflect"
	"sync/atomic"
)

// Cache keeps what became of documents from one admission to the next, by their texts. It keeps those alone that were
// admitted without a word, and that the last admission had. The zero value is ready; nil keeps nothing. It serves one
// admission at a time, and moves the documents of the one before to where they stand now.
type Cache struct {
	options Options
	seed    maphash.Seed
	texts   map[uint64]*cachedText // by their hashes
	orders  sortOrders
}

// cachedText is a text whose documents were admitted.
type cachedText struct {
	*admittedText
	taken atomic.Bool // by a text of the admission at hand
}

// resetIfChanged forgets everything if the options are others.
func (c *Cache) resetIfChanged(o Options) {
	if c != nil && (c.texts == nil || !reflect.DeepEqual(c.options, o)) {
		c.options, c.seed, c.texts, c.orders = o, maphash.MakeSeed(), map[uint64]*cachedText{}, sortOrders{}
	}
}

// lastOrders says how objects were sorted the last time.
func (c *Cache) lastOrders() sortOrders {
	if c == nil {
		return nil
	}
	return c.orders
}

// recall gives a text the documents of an equal one. It may be called from several goroutines at once; of equal texts
// one gets them.
func (c *Cache) recall(t *admittedText) bool {
	if c == nil || !t.IsSelfContained() {
		return false
	}
	t.hash = t.Hash(c.seed)
	kept := c.texts[t.hash]
	if kept == nil || kept.taken.Swap(true) || !kept.Equal(t.Text) { // who takes it may look at it, and nobody else
		return false
	}
	for _, d := range kept.documents {
		d.MoveTo(t.Text)
	}
	kept.Text, t.documents = t.Text, kept.documents
	return true
}

// store takes in the texts of an admission, and forgets those that it did not have.
func (c *Cache) store(texts []*admittedText) {
	if c == nil {
		return
	}
	for hash, kept := range c.texts {
		if !kept.taken.Swap(false) {
			delete(c.texts, hash)
		}
	}
	for _, t := range texts {
		if c.texts[t.hash] == nil && t.IsSelfContained() && t.isClean() {
			c.texts[t.hash] = &cachedText{admittedText: t}
		}
	}
}

// isClean tells whether there was nothing to say about the text's documents.
func (t *admittedText) isClean() bool {
	for _, d := range t.documents {
		if !d.rep.Silent() {
			return false
		}
	}
	return t.rep.Silent() && len(t.documents) > 0
}
