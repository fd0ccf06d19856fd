package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// targetIndex is what policies can be attached to.
type targetIndex struct {
	objects  *resource.Objects // those that they are among, and no others
	exists   map[object.TargetRef]bool
	subjects map[object.Ref]report.Subject
}

// newTargetIndex finds what policies can be attached to.
func newTargetIndex(objects *resource.Objects) *targetIndex {
	number := len(objects.Routes) + len(objects.Services) + len(objects.VirtualServices)
	t := &targetIndex{
		objects: objects, exists: make(map[object.TargetRef]bool, number), subjects: make(map[object.Ref]report.Subject, number),
	}
	attachable := func(traits resource.Traits) bool { return traits.Attachable }
	objects.Visit(attachable, func(e resource.Entry) {
		if e.Ref.Kind == object.KindGatewayClass {
			e.Ref.Namespace = "" // which a document may have, though it means nothing
		}
		t.subjects[e.Ref] = e.Subject
		t.exists[object.TargetRef{Ref: e.Ref}] = true
		for _, section := range e.Sections {
			t.exists[object.TargetRef{Ref: e.Ref, Section: section}] = true
		}
	})
	return t
}
