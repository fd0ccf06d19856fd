package wasmtest

import "encoding/binary"

// Header maps cross the border in one block: the number of lines, then the sizes of every name and value, then the
// names and values themselves, each with a zero byte behind it. Numbers are 32 bits, little end first.

// What Envoy accepts from a guest; it takes a larger block for an empty one.
const (
	maxPairsBytes = 1 << 20
	maxPairs      = 1024
)

// pairsSize is the length of the block for these lines, in bytes.
func pairsSize(lines [][2]string) int {
	size := 4
	for i := range lines {
		size += len(lines[i][0]) + len(lines[i][1]) + 10
	}
	return size
}

// putPairs writes the block into b, which is pairsSize long.
func putPairs(b []byte, lines [][2]string) {
	binary.LittleEndian.PutUint32(b, uint32(len(lines)))
	at, text := 4, 4+8*len(lines)
	for i := range lines {
		for _, part := range &lines[i] {
			binary.LittleEndian.PutUint32(b[at:], uint32(len(part)))
			at += 4
			text += copy(b[text:], part)
			b[text] = 0
			text++
		}
	}
}

// parsePairs reads a block with lower-case names. A malformed block counts as an empty one, as in Envoy.
func parsePairs(b []byte) [][2]string {
	if len(b) < 4 || len(b) > maxPairsBytes {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > maxPairs || 4+8*n > len(b) {
		return nil
	}
	sizes, text := b[4:4+8*n], b[4+8*n:]
	lines := make([][2]string, n)
	for i := range 2 * n {
		size := int(binary.LittleEndian.Uint32(sizes[4*i:]))
		if size >= len(text) || text[size] != 0 {
			return nil
		}
		lines[i/2][i%2] = string(text[:size])
		text = text[size+1:]
	}
	if len(text) != 0 {
		return nil
	}
	for i := range lines {
		lines[i][0] = lower(lines[i][0])
	}
	return lines
}
