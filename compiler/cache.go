package compiler

import "github.com/limpet-proxy/limpet/compiler/schema"

// Cache keeps what a process that compiles again and again need not do twice. It serves one compilation at a time, and
// one input: it forgets what the last compilation did not have.
type Cache struct {
	documents schema.Cache
}

// NewCache gives an empty cache.
func NewCache() *Cache { return &Cache{} }

// admissions is the cache of documents; nil if there is no cache at all.
func (c *Cache) admissions() *schema.Cache {
	if c == nil {
		return nil
	}
	return &c.documents
}
