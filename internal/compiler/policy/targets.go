package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// targets is what policies can be attached to.
type targets struct {
	objects  *resource.Objects // nothing else
	exists   map[ladder.Target]bool
	subjects map[ladder.Object]report.Subject
}

// targetsOf finds them among the objects, or knows them from the last time.
func (m *Memory) targetsOf(objects *resource.Objects) *targets {
	own := &resource.Objects{
		Classes: objects.Classes, Gateways: objects.Gateways, Routes: objects.Routes,
		VirtualServices: objects.VirtualServices, Services: objects.Services, Backends: objects.Backends,
	}
	if m.targets == nil || !m.targets.objects.Equal(own) {
		m.targets = newTargets(own)
	}
	return m.targets
}

func newTargets(objects *resource.Objects) *targets {
	number := len(objects.Routes) + len(objects.Services) + len(objects.VirtualServices)
	t := &targets{
		objects: objects, exists: make(map[ladder.Target]bool, number), subjects: make(map[ladder.Object]report.Subject, number),
	}
	for _, o := range objects.Classes {
		known(t, o, "", nil)
	}
	for _, o := range objects.Gateways {
		var names []string
		for _, l := range o.Value.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		known(t, o, o.Namespace, names)
	}
	for _, o := range objects.Routes {
		var names []string
		for _, r := range o.Value.Spec.Rules {
			if r.Name != nil {
				names = append(names, string(*r.Name))
			}
		}
		known(t, o, o.Namespace, names)
	}
	for _, o := range objects.VirtualServices {
		var names []string
		for _, r := range o.Value.Spec.HTTP {
			if r.Name != "" {
				names = append(names, r.Name)
			}
		}
		known(t, o, o.Namespace, names)
	}
	for _, o := range objects.Services {
		known(t, o, o.Namespace, nil)
	}
	for _, o := range objects.Backends {
		known(t, o, o.Namespace, nil)
	}
	return t
}

func known[T any](t *targets, o *resource.Object[T], namespace string, sections []string) {
	object := ladder.Object{Kind: o.Kind, Namespace: namespace, Name: o.Name}
	t.subjects[object] = o
	t.exists[ladder.Target{Object: object}] = true
	for _, s := range sections {
		t.exists[ladder.Target{Object: object, Section: s}] = true
	}
}
