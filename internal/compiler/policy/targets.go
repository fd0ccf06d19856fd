package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Targets is what policies can be attached to.
type Targets struct {
	exists   map[object.TargetRef]bool
	subjects map[object.Ref]report.Subject
	// refused are the objects that are no good.
	refused map[object.Ref]bool
}

// NewTargets allocates for a number of objects.
func NewTargets(number int) *Targets {
	return &Targets{
		exists: make(map[object.TargetRef]bool, number), subjects: make(map[object.Ref]report.Subject, number),
		refused: map[object.Ref]bool{},
	}
}

// findTargets finds what policies can be attached to.
func findTargets(objects *resource.Objects) *Targets {
	t := NewTargets(len(objects.Routes) + len(objects.Services))
	VisitTargets(objects, t.Add)
	for _, ref := range objects.Refused {
		t.SetRefused(ref, true)
	}
	return t
}

// VisitTargets visits the objects that policies can be attached to.
func VisitTargets(objects *resource.Objects, visit func(resource.Entry)) {
	attachable := func(traits resource.Traits) bool { return traits.Attachable }
	objects.Visit(attachable, func(e resource.Entry) {
		if e.Ref.Kind == object.KindGatewayClass {
			e.Ref.Namespace = "" // which a document may have, though it means nothing
		}
		visit(e)
	})
}

// Has reports whether there is a target.
func (t *Targets) Has(target object.TargetRef) bool { return t.exists[target] }

// SetRefused notes whether an object is no good.
func (t *Targets) SetRefused(ref object.Ref, is bool) {
	if is {
		t.refused[ref] = true
	} else {
		delete(t.refused, ref)
	}
}

// absence says why a target is not there.
func (t *Targets) absence(target object.TargetRef) string {
	if t.exists[object.TargetRef{Ref: target.Ref}] {
		return resource.SectionAbsence(target)
	}
	return resource.Absence(target.Ref, t.refused[target.Ref])
}

// Add takes in an object.
func (t *Targets) Add(e resource.Entry) {
	t.subjects[e.Ref] = e.Subject
	t.exists[object.TargetRef{Ref: e.Ref}] = true
	for _, section := range e.Sections {
		t.exists[object.TargetRef{Ref: e.Ref, Section: section}] = true
	}
}

// Remove takes an object out again.
func (t *Targets) Remove(e resource.Entry) {
	delete(t.subjects, e.Ref)
	delete(t.exists, object.TargetRef{Ref: e.Ref})
	for _, section := range e.Sections {
		delete(t.exists, object.TargetRef{Ref: e.Ref, Section: section})
	}
}
