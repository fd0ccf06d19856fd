package compiler

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/describe"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Describe says what affects an object of the input, which words such as httproute/shop/cart name, or a listener or
// rule of it by the section's name; of a policy, what it affects. The error is of type Errors when documents are no
// good; any other is about the words or the options. For a target with a control plane of its own, which does the
// balancing, sessions are all there is to say.
func Describe(sources []Source, o Options, words, section string) (*describe.Description, error) {
	o.prepareDryRun()
	j, err := analyze(sources, &o)
	if err != nil {
		return nil, err
	}
	k := j.collectDescribables()
	ref, err := describe.Find(words, k.objects)
	if err != nil {
		return nil, err
	}
	if section != "" && !slices.Contains(k.sections[ref], section) {
		return nil, fmt.Errorf("%s: there is no listener or rule %q in it", ref, section)
	}
	in := describe.Input{Decisions: j.decisions, Traffic: j.traffic, Subjects: k.subjects}
	if j.loadBalancing != nil {
		in.LoadBalancing = j.loadBalancing.Attachments
	}
	return describe.Describe(ref, section, in), nil
}

// describables is the input's objects that can be described.
type describables struct {
	objects  []object.Ref
	subjects map[string]report.Subject
	sections map[object.Ref][]string
}

func (j *analysis) collectDescribables() *describables {
	k := &describables{subjects: map[string]report.Subject{}, sections: map[object.Ref][]string{}}
	addDescribables(k, j.objects.Classes, nil)
	addDescribables(k, j.objects.Gateways, func(o *resource.Object[gatewayv1.Gateway]) (names []string) {
		for _, l := range o.Value.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		return names
	})
	addDescribables(k, j.objects.Routes, func(o *resource.Object[gatewayv1.HTTPRoute]) (names []string) {
		for _, r := range o.Value.Spec.Rules {
			if r.Name != nil {
				names = append(names, string(*r.Name))
			}
		}
		return names
	})
	addDescribables(k, j.objects.VirtualServices, func(o *resource.Object[resource.VirtualService]) (names []string) {
		for _, r := range o.Value.Spec.HTTP {
			if r.Name != "" {
				names = append(names, r.Name)
			}
		}
		return names
	})
	addDescribables(k, j.objects.Services, nil)
	addDescribables(k, j.objects.Backends, nil)
	addDescribables(k, j.objects.SessionPolicies, nil)
	addDescribables(k, j.objects.TrafficPolicies, nil)
	addDescribables(k, j.objects.LoadBalancers, nil)
	addDescribables(k, j.objects.Proxies, nil)
	return k
}

func addDescribables[T any](k *describables, objects []*resource.Object[T], sections func(*resource.Object[T]) []string) {
	for _, o := range objects {
		ref := o.Origin().Ref
		k.objects = append(k.objects, ref)
		k.subjects[ref.String()] = o
		if sections != nil {
			k.sections[ref] = sections(o)
		}
	}
}
