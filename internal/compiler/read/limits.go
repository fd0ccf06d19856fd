package read

import (
	"fmt"
	"strconv"
)

// Limits of what one file may ask for. Real files stay far below them: they keep the time and memory that a file takes
// in proportion to what files of its size take that people write.
const (
	leastObject = 24        // bytes: metadata with a name, as an item of a typed list
	spared      = 1000      // documents that are read however small they are
	maxValues   = 2_500_000 // of a document: keys, values, items
	maxObject   = 3 << 19   // bytes of JSON; what an API server's store takes (etcd, --max-request-bytes)
	worthAsking = maxObject / 4
)

const (
	tooManyDocuments = "too many documents for a file of this size"
	tooManyItems     = "too many items for a file of this size"
)

var tooManyValues = fmt.Sprintf("the document has more than %d values", maxValues)

// documentLimit is how many documents, or items of a list, a text may have: far more than objects fit into it.
func documentLimit(data []byte) int { return spared + len(data)/leastObject }

const tooLarge = "the object is too large: an API server stores at most 1.5 MiB of JSON"

// isDense tells whether a YAML document may have more values than are read: each comes with one of these marks at
// least.
func isDense(data []byte) bool {
	if len(data) < maxValues {
		return false
	}
	marks := 0
	for _, c := range data {
		switch c {
		case ',', ':', '\n', '[', '{', '-', '?', '&', '*', '!':
			marks++
		}
	}
	return marks > maxValues
}

// isTooLarge tells whether a value takes more than so many bytes of JSON.
func isTooLarge(value any, most int) bool { return restOfBytes(value, most) < 0 }

// restOfBytes gives what is left of a number of bytes after a value's JSON, or a negative number as soon as it is
// known.
func restOfBytes(value any, left int) int {
	switch value := value.(type) {
	case map[string]any:
		left -= 2
		for key, item := range value {
			if left = restOfBytes(item, left-len(key)-4); left < 0 {
				break
			}
		}
	case []any:
		left -= 2
		for _, item := range value {
			if left = restOfBytes(item, left-1); left < 0 {
				break
			}
		}
	case string:
		left -= len(value) + 2
	case int64:
		left -= len(strconv.FormatInt(value, 10))
	default:
		left -= 4
	}
	return left
}
