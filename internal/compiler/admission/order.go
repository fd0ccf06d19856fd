package admission

import (
	"cmp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// compareErrors orders errors by path, then by message, so that a refusal reads the same every time.
func compareErrors(a, b *field.Error) int {
	return cmp.Or(comparePaths(a.Field, b.Field), cmp.Compare(a.ErrorBody(), b.ErrorBody()))
}

// comparePaths orders field paths as a reader counts them: rules[2] before rules[10]. Errors about the object as a
// whole, whose path apimachinery writes as "<nil>", come last.
func comparePaths(a, b string) int {
	if whole := cmp.Compare(rankPath(a), rankPath(b)); whole != 0 {
		return whole
	}
	for {
		headA, indexA, restA := cutIndex(a)
		headB, indexB, restB := cutIndex(b)
		if order := cmp.Or(cmp.Compare(headA, headB), cmp.Compare(indexA, indexB)); order != 0 || restA == "" || restB == "" {
			return cmp.Or(order, cmp.Compare(restA, restB))
		}
		a, b = restA, restB
	}
}

func rankPath(path string) int {
	if path == "" || path == "<nil>" {
		return 1
	}
	return 0
}

// cutIndex splits a path at its first list index; the index is -1 if there is none.
func cutIndex(path string) (head string, index int, rest string) {
	head, after, found := strings.Cut(path, "[")
	digits, rest, closed := strings.Cut(after, "]")
	index, err := strconv.Atoi(digits)
	if !found || !closed || err != nil {
		return path, -1, ""
	}
	return head, index, rest
}
