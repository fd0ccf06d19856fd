package backend

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// portCases are Services with a port 80, EndpointSlices, and the endpoints that they come to; those that drain have a
// minus.
var portCases = []struct {
	name, service string
	slices        []string
	want          string
}{
	{"one slice", "", []string{"[{addresses: [10.0.0.2]}, {addresses: [10.0.0.1]}]"}, "10.0.0.1:8080 10.0.0.2:8080"},
	{"no slice", "", nil, ""},
	{"one that is not ready", "", []string{"[{addresses: [10.0.0.1], conditions: {ready: false}}]"}, ""},
	{
		"one that drains", "",
		[]string{"[{addresses: [10.0.0.1], conditions: {ready: false, serving: true, terminating: true}}]"},
		"-10.0.0.1:8080",
	},
	{
		"one that drains in one slice only", "", []string{
			"[{addresses: [10.0.0.1], conditions: {ready: false, serving: true, terminating: true}}]", "[{addresses: [10.0.0.1]}]",
		}, "10.0.0.1:8080",
	},
	{"the older family first", "", []string{"[{addresses: ['fd00::1']}]", "[{addresses: [10.0.0.1]}]"}, "10.0.0.1:8080"},
	{
		"the Service's family first", "ipFamilies: [IPv6]",
		[]string{"[{addresses: ['fd00::1']}]", "[{addresses: [10.0.0.1]}]"},
		"[fd00::1]:8080",
	},
	{"the family that has any", "ipFamilies: [IPv6]", []string{"[{addresses: [10.0.0.1]}]"}, "10.0.0.1:8080"},
}

func TestBuildPort(t *testing.T) {
	for _, c := range portCases {
		p := BuildPort(newPortInputs(t, c.service, c.slices...))
		var got []string
		for _, e := range p.Endpoints {
			text := e.Address.String()
			if e.Draining {
				text = "-" + text
			}
			got = append(got, text)
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%s: got %q, want %q", c.name, all, c.want)
		}
		if p.Name != "default/app:80" || p.Cluster != "service/default/app/80" {
			t.Errorf("%s: it is called %s, its cluster %s", c.name, p.Name, p.Cluster)
		}
	}
}

// TestPortInputs changes one thing that a port is made from at a time.
func TestPortInputs(t *testing.T) {
	one := newPortInputs(t, "", "[]")
	other := newPortInputs(t, "", "[]")
	for name, in := range map[string]PortInputs{
		"the Service":  {other.service, one.index, one.slices, nil, nil},
		"the port":     {one.service, one.index + 1, one.slices, nil, nil},
		"a slice":      {one.service, one.index, other.slices, nil, nil},
		"a slice more": {one.service, one.index, append(other.slices, one.slices...), nil, nil},
		"a pod":        {one.service, one.index, one.slices, []*SelectedPod{{}}, nil},
		"the places":   {one.service, one.index, one.slices, nil, &Places{NoLoopback: true}},
	} {
		if in.Equal(one) || one.Equal(in) {
			t.Errorf("%s is not compared", name)
		}
	}
	if again := one; !again.Equal(one) || again.Key() != one.Key() {
		t.Error("a port is not equal to itself")
	}
}

// newPortInputs makes the inputs of a Service's port from what stands in its spec, and from the endpoints of its slices.
func newPortInputs(t *testing.T, spec string, endpoints ...string) PortInputs {
	t.Helper()
	service := &resource.Object[corev1.Service]{Kind: "Service", Namespace: "default", Name: "app", Value: &corev1.Service{}}
	parse(t, "{ports: [{port: 80, protocol: TCP}], "+spec+"}", &service.Value.Spec)
	in := PortInputs{service: service}
	for _, list := range endpoints {
		family := "IPv4"
		if strings.Contains(list, ":1'") {
			family = "IPv6"
		}
		s := &endpointSlice{Value: &discoveryv1.EndpointSlice{}}
		parse(t, fmt.Sprintf("{addressType: %s, ports: [{name: '', port: 8080, protocol: TCP}], endpoints: %s}", family, list), s.Value)
		in.slices = append(in.slices, s)
	}
	return in
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
