package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Find gives the object that words such as httproute/shop/cart mean: a kind without regard to case, singular or
// plural, the namespace where there is one, and the name. Without its namespace an object is found if its name is
// the only one of its kind.
func Find(words string, known []object.Ref) (object.Ref, error) {
	parts := strings.Split(words, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return object.Ref{}, fmt.Errorf("%q: must be KIND/NAME or KIND/NAMESPACE/NAME, such as HTTPRoute/shop/cart", words)
	}
	var found []object.Ref
	for _, o := range known {
		if isKind(parts[0], o.Kind) && o.Name == parts[len(parts)-1] && (len(parts) == 2 || o.Namespace == parts[1]) {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return object.Ref{}, fmt.Errorf("%s: there is no such object in the input", words)
	default:
		return object.Ref{}, fmt.Errorf("%s: there are several: %s", words, joinNames(found))
	}
}

// isKind reports whether a word means a kind.
func isKind(word, kind string) bool {
	plural := kind + "s"
	switch {
	case strings.HasSuffix(kind, "y"):
		plural = strings.TrimSuffix(kind, "y") + "ies"
	case strings.HasSuffix(kind, "s"):
		plural = kind + "es"
	}
	return strings.EqualFold(word, kind) || strings.EqualFold(word, plural)
}

func joinNames(objects []object.Ref) string {
	all := make([]string, len(objects))
	for i, o := range objects {
		all[i] = o.String()
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
