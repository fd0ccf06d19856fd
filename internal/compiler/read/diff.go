package read

import "bytes"

// Diff gives the sources that are new or have other bytes, and the names of those that are gone. Blocks that both lists
// share are not looked into, and neither are the bytes of one and the same slice. Of lists that are not in the order of
// their names more may be given than has changed: who takes out what is gone and then puts in what is new has what is
// in after.
func Diff(before, after List) (set []Source, gone []string) {
	was, now := cursor{blocks: before.blocks}, cursor{blocks: after.blocks}
	for !now.isAtEnd() {
		if now.isAtBlock(&was) {
			now.skipBlock()
			was.skipBlock()
			continue
		}
		for !was.isAtEnd() && was.source().Name < now.source().Name {
			gone = append(gone, was.source().Name)
			was.next()
		}
		s := now.source()
		isKnown := !was.isAtEnd() && was.source().Name == s.Name
		if !isKnown || !bytes.Equal(was.source().Data, s.Data) {
			set = append(set, *s)
		}
		if now.next(); isKnown {
			was.next()
		}
	}
	for ; !was.isAtEnd(); was.next() {
		gone = append(gone, was.source().Name)
	}
	return set, gone
}

// cursor is a place in a list.
type cursor struct {
	blocks [][]Source // from the one that it is in
	at     int
}

func (c *cursor) isAtEnd() bool   { return len(c.blocks) == 0 }
func (c *cursor) source() *Source { return &c.blocks[0][c.at] }

func (c *cursor) next() {
	if c.at++; c.at == len(c.blocks[0]) {
		c.skipBlock()
	}
}

func (c *cursor) skipBlock() { c.blocks, c.at = c.blocks[1:], 0 }

// isAtBlock tells whether both are at the beginning of one and the same block.
func (c *cursor) isAtBlock(other *cursor) bool {
	return c.at == 0 && other.at == 0 && !other.isAtEnd() && len(c.blocks[0]) == len(other.blocks[0]) &&
		&c.blocks[0][0] == &other.blocks[0][0]
}
