package object

import (
	"cmp"
	"time"
)

// Origin is an object that something is written in.
type Origin struct {
	Ref
	// Created is the creationTimestamp, the zero time where there is none.
	Created time.Time
}

// ByAge puts the older object first, then goes by namespace/name (GEP-713, and HTTPRoute's precedence of rules).
// Objects of two kinds that agree in both go by their kinds, which makes the order total. An object without a creation
// time, as one in a file most often is, counts as newer than any with one.
func ByAge(a, b Origin) int {
	switch {
	case a.Created.IsZero() != b.Created.IsZero():
		if a.Created.IsZero() {
			return 1
		}
		return -1
	case !a.Created.Equal(b.Created):
		return a.Created.Compare(b.Created)
	case a.Namespace != b.Namespace:
		return cmp.Compare(a.Key(), b.Key()) // "shop-a/x" is before "shop/x", as with the whole name
	default:
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	}
}
