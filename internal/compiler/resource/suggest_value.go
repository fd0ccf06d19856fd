package resource

import (
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/suggest"
)

// suggestValue names the supported value that may be meant by one that is not; empty if none is near.
func suggestValue(e *field.Error) string {
	value, isText := e.BadValue.(string)
	if _, list, found := strings.Cut(e.Detail, "supported values: "); isText && found {
		return suggest.DidYouMean(value, strings.Split(strings.ReplaceAll(list, `"`, ""), ", "))
	}
	return ""
}

// alternativesPattern is what the schema validator says of oneOf and anyOf: the path stands in the message alone.
var alternativesPattern = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^"([^"]+)" (must validate .*)$`) },
)

func cutPath(detail string) (path, rest string) {
	if parts := alternativesPattern().FindStringSubmatch(detail); parts != nil {
		return parts[1], parts[2]
	}
	return "", detail
}
