package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// targetIndex is what policies can be attached to.
type targetIndex struct {
	objects  *resource.Objects // nothing else
	exists   map[object.TargetRef]bool
	subjects map[object.Ref]report.Subject
}

// targetsFor finds them among the objects, or knows them from the last time.
func (m *Cache) targetsFor(objects *resource.Objects) *targetIndex {
	own := &resource.Objects{
		Classes: objects.Classes, Gateways: objects.Gateways, Routes: objects.Routes,
		VirtualServices: objects.VirtualServices, Services: objects.Services, Backends: objects.Backends,
	}
	if m.targets == nil || !m.targets.objects.Equal(own) {
		m.targets = newTargetIndex(own)
	}
	return m.targets
}

func newTargetIndex(objects *resource.Objects) *targetIndex {
	number := len(objects.Routes) + len(objects.Services) + len(objects.VirtualServices)
	t := &targetIndex{
		objects: objects, exists: make(map[object.TargetRef]bool, number), subjects: make(map[object.Ref]report.Subject, number),
	}
	for _, o := range objects.Classes {
		addTarget(t, o, "", nil)
	}
	for _, o := range objects.Gateways {
		var names []string
		for _, l := range o.Value.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		addTarget(t, o, o.Namespace, names)
	}
	for _, o := range objects.Routes {
		var names []string
		for _, r := range o.Value.Spec.Rules {
			if r.Name != nil {
				names = append(names, string(*r.Name))
			}
		}
		addTarget(t, o, o.Namespace, names)
	}
	for _, o := range objects.VirtualServices {
		var names []string
		for _, r := range o.Value.Spec.HTTP {
			if r.Name != "" {
				names = append(names, r.Name)
			}
		}
		addTarget(t, o, o.Namespace, names)
	}
	for _, o := range objects.Services {
		addTarget(t, o, o.Namespace, nil)
	}
	for _, o := range objects.Backends {
		addTarget(t, o, o.Namespace, nil)
	}
	return t
}

func addTarget[T any](t *targetIndex, o *resource.Object[T], namespace string, sections []string) {
	ref := object.Ref{Kind: o.Kind, Namespace: namespace, Name: o.Name}
	t.subjects[ref] = o
	t.exists[object.TargetRef{Ref: ref}] = true
	for _, s := range sections {
		t.exists[object.TargetRef{Ref: ref, Section: s}] = true
	}
}
