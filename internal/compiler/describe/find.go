package describe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// Find gives the object that words such as httproute/shop/cart mean: a kind without regard to case, singular or
// plural, the namespace where there is one, and the name. Without its namespace an object is found if its name is
// the only one of its kind.
func Find(words string, known []object.Ref) (object.Ref, error) {
	parts := strings.Split(words, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return object.Ref{}, fmt.Errorf(
			"%q: must be KIND/NAME, KIND/NAMESPACE/NAME or KIND/NAMESPACE/NAME/SECTION, such as HTTPRoute/shop/cart",
			words,
		)
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
		return object.Ref{}, fmt.Errorf("%s: %s", words, explainMissing(parts, known))
	default:
		return object.Ref{}, fmt.Errorf("%s: there are several: %s", words, joinNames(found))
	}
}

// kinds are those that can be described, each with its short names: those of kubectl, and the ones that people try.
var kinds = map[string][]string{
	object.KindGateway: {
		"gtw",
		"gw",
	}, object.KindGatewayClass: {"gc"}, object.KindService: {"svc"}, object.KindHTTPRoute: {"hr"},
	object.KindGRPCRoute: {
		"gr",
	}, object.KindTLSRoute: nil, object.KindTCPRoute: nil, object.KindUDPRoute: nil, "HTTPProxy": nil,
	object.KindVirtualService: {"vs"},
	object.KindXBackend:       nil, object.KindListenerSet: {"lset"}, object.KindSessionPolicy: {"spp"},
	object.KindTrafficPolicy: nil,
	object.KindLoadBalancer:  {"lbp"},
}

// isKind reports whether a word means a kind.
func isKind(word, kind string) bool {
	plural := kind + "s"
	switch {
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay"):
		plural = strings.TrimSuffix(kind, "y") + "ies"
	case strings.HasSuffix(kind, "s"):
		plural = kind + "es"
	}
	return strings.EqualFold(word, kind) || strings.EqualFold(word, plural) ||
		slices.Contains(kinds[kind], strings.ToLower(word))
}

// maxNames is how many objects are named that there are instead.
const maxNames = 5

// explainMissing says what there is in place of an object that is not there.
func explainMissing(parts []string, known []object.Ref) string {
	all := slices.Sorted(maps.Keys(kinds))
	at := slices.IndexFunc(all, func(kind string) bool { return isKind(parts[0], kind) })
	if at < 0 {
		return fmt.Sprintf("there is no kind %s%s", parts[0], suggestKind(parts, all, known))
	}
	kind, name := all[at], parts[len(parts)-1]
	missing := fmt.Sprintf("there is no such %s in the input", kind)
	var names []string
	for _, o := range known {
		if o.Kind != kind {
			continue
		}
		full := o.Kind + "/" + o.Key()
		if suggest.Nearest(name, []string{o.Name}) != "" {
			return missing + "; did you mean " + full + "?"
		}
		names = append(names, full)
	}
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("and %d more", more))
	}
	if len(names) == 0 {
		return missing + ", and no other"
	}
	return missing + "; it has " + strings.Join(names, ", ")
}

// suggestKind says what may be meant by a kind that there is not: an object of the name, of a kind that is near; else
// the kind.
func suggestKind(parts, kinds []string, known []object.Ref) string {
	for _, o := range known {
		if o.Name == parts[len(parts)-1] && suggest.Nearest(parts[0], []string{o.Kind}) != "" {
			return "; did you mean " + o.Kind + "/" + o.Key() + "?"
		}
	}
	if near := suggest.DidYouMean(parts[0], kinds); near != "" {
		return near
	}
	return "; there are " + strings.Join(kinds, ", ")
}

func joinNames(objects []object.Ref) string {
	all := make([]string, len(objects))
	for i, o := range objects {
		all[i] = o.String()
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
