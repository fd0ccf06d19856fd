package compiler

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/describe"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Describe says what affects an object of the input, which words such as httproute/shop/cart name, or a listener or
// rule of it by the section's name; of a policy, what it affects. The error is of type Errors when documents are no
// good; any other is about the words or the options. For a target with a control plane of its own, which does the
// balancing, sessions are all there is to say.
func Describe(sources []Source, o Options, words, section string) (*describe.Description, error) {
	o.onlyLook()
	j, err := judge(sources, &o)
	if err != nil {
		return nil, err
	}
	k := j.known()
	object, err := describe.Find(words, k.objects)
	if err != nil {
		return nil, err
	}
	if section != "" && !slices.Contains(k.sections[object], section) {
		return nil, fmt.Errorf("%s: there is no listener or rule %q in it", object, section)
	}
	in := describe.Input{Decisions: j.decisions, Spreads: j.spreads, Subjects: k.subjects}
	if j.balance != nil {
		in.Balancers = j.balance.Attachments
	}
	return describe.Describe(object, section, in), nil
}

// known is the input's objects that can be described.
type known struct {
	objects  []ladder.Object
	subjects map[string]report.Subject
	sections map[ladder.Object][]string
}

func (j *judgement) known() *known {
	k := &known{subjects: map[string]report.Subject{}, sections: map[ladder.Object][]string{}}
	know(k, j.objects.Classes, nil)
	know(k, j.objects.Gateways, func(o *resource.Object[gatewayv1.Gateway]) (names []string) {
		for _, l := range o.Value.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		return names
	})
	know(k, j.objects.Routes, func(o *resource.Object[gatewayv1.HTTPRoute]) (names []string) {
		for _, r := range o.Value.Spec.Rules {
			if r.Name != nil {
				names = append(names, string(*r.Name))
			}
		}
		return names
	})
	know(k, j.objects.VirtualServices, func(o *resource.Object[resource.VirtualService]) (names []string) {
		for _, r := range o.Value.Spec.HTTP {
			if r.Name != "" {
				names = append(names, r.Name)
			}
		}
		return names
	})
	know(k, j.objects.Services, nil)
	know(k, j.objects.Backends, nil)
	know(k, j.objects.SessionPolicies, nil)
	know(k, j.objects.TrafficPolicies, nil)
	know(k, j.objects.LoadBalancers, nil)
	know(k, j.objects.Proxies, nil)
	return k
}

func know[T any](k *known, objects []*resource.Object[T], sections func(*resource.Object[T]) []string) {
	for _, o := range objects {
		object := o.Source().Object
		k.objects = append(k.objects, object)
		k.subjects[object.String()] = o
		if sections != nil {
			k.sections[object] = sections(o)
		}
	}
}
