package resource

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Absence says why an object is not among those that are admitted: it is refused, or not there at all.
func Absence(ref object.Ref, refused bool) string {
	if refused {
		return ref.String() + " is refused itself"
	}
	return fmt.Sprintf("there is no %s in the input", ref)
}

// SectionAbsence says that an object that is there lacks what a reference means by a sectionName.
func SectionAbsence(t object.TargetRef) string {
	noun := "rule"
	switch t.Kind {
	case object.KindService:
		noun = "port"
	case object.KindGateway, object.KindListenerSet:
		noun = "listener"
	}
	return fmt.Sprintf("%s has no %s named %q", t.Ref, noun, t.Section)
}

// absencePattern is what messages have of Absence and SectionAbsence. Keys and sections are names of Kubernetes, or
// what is no name of anything.
var absencePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`there is no ([A-Za-z ]+) ([^ ]+) in the input|([A-Za-z]+) ([^ ]+) has no (?:rule|port|listener) named "([^" ]+)"`,
	)
})

// ParseAbsence finds in a message what it says is not there; false for nothing.
func ParseAbsence(message string) (object.TargetRef, bool) {
	found := absencePattern().FindStringSubmatch(message)
	if found == nil {
		return object.TargetRef{}, false
	}
	return object.TargetRef{Ref: object.ParseKey(found[1]+found[3], found[2]+found[4]), Section: found[5]}, true
}
