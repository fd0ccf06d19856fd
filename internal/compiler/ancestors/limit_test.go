package ancestors

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

var (
	route   = object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "cart"}
	service = object.Ref{Kind: object.KindService, Namespace: "shop", Name: "cart"}
)

func gatewayRef(i int) object.Ref {
	return object.Ref{Kind: object.KindGateway, Namespace: "shop", Name: fmt.Sprintf("g%02d", i)}
}

// newObjects has as many Gateways, and a LoadBalancerPolicy whose status has entries of other controllers and of ours.
func newObjects(t *testing.T, gateways, foreign, own int) (*resource.Objects, object.Ref) {
	t.Helper()
	entries := slices.Concat(slices.Repeat([]string{"{controllerName: example.com/other}"}, foreign),
		slices.Repeat([]string{"{controllerName: " + string(v1alpha1.ControllerName) + "}"}, own))
	text := fmt.Sprintf("{apiVersion: limpet.dev/v1alpha1, kind: LoadBalancerPolicy, metadata: {name: p, namespace: shop}, "+
		"spec: {strategy: Random, targetRefs: [{group: '', kind: Service, name: cart}]}, status: {ancestors: [%s]}}\n",
		strings.Join(entries, ", "))
	for i := range gateways {
		text += fmt.Sprintf("---\n{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: %s, namespace: shop}, "+
			"spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}}\n", gatewayRef(i).Name)
	}
	rep := &report.Report{}
	objects, err := resource.Admit([]read.Source{{Name: "in.yaml", Data: []byte(text)}}, resource.Options{AssumeAdmitted: true}, rep)
	if err != nil || len(rep.Unreadable()) > 0 {
		t.Fatal(err, rep.Errors(false))
	}
	return objects, objects.LoadBalancers[0].Ref()
}

// TestFind shows how many Gateways a policy has no effect on, which are the youngest.
//
// requirements: 2C.16
func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		gateways, foreign, own, refused int
		reaching                        int // on how many Gateways the policy's target is met
		want                            int
	}{
		"sixteen have room":                        {gateways: 16, reaching: 16},
		"the seventeenth has not":                  {gateways: 17, reaching: 17, want: 1},
		"other controllers' entries stay":          {gateways: 16, foreign: 3, reaching: 16, want: 3},
		"entries of ours are written again":        {gateways: 16, own: 16, reaching: 16},
		"targets without effect have entries, too": {gateways: 16, refused: 2, reaching: 16, want: 2},
		"Gateways that lead elsewhere don't count": {gateways: 40, reaching: 16},
		"a status full of others leaves none":      {gateways: 2, foreign: 16, reaching: 2, want: 2},
		"nor one with more than its limit":         {gateways: 2, foreign: 20, reaching: 2, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			objects, policy := newObjects(t, c.gateways, c.foreign, c.own)
			attachments := []Attachment{{Policy: policy, Target: object.TargetRef{Ref: service}}}
			for range c.refused {
				attachments = append(attachments, Attachment{Policy: policy, Refused: true})
			}
			var paths []precedence.TrafficPath
			for i := range c.gateways {
				path := precedence.TrafficPath{Gateway: gatewayRef(i), Route: route}
				if i < c.reaching {
					path.Backends = []object.TargetRef{{Ref: service}}
				}
				paths = append(paths, path)
			}
			rep := &report.Report{}
			limit := Find(Input{Objects: objects, Attachments: slices.Values(attachments), Paths: slices.Values(paths)}, rep)
			for i, path := range paths {
				want := i >= c.reaching-c.want && i < c.reaching
				if got := limit.Reached(policy, path.Gateway); got != want {
					t.Errorf("%s: the limit is reached: %t", path.Gateway, got)
				}
				if got := len(limit.PoliciesOff(path)) == 1; got != want {
					t.Errorf("%s: %v are off", path.Gateway, limit.PoliciesOff(path))
				}
				if got := len(limit.PoliciesWithout(path.Gateway)) == 1; got != want {
					t.Errorf("%s: %v are without it", path.Gateway, limit.PoliciesWithout(path.Gateway))
				}
			}
			if n := len(rep.Warnings()); n != c.want {
				t.Errorf("%d warnings, want %d", n, c.want)
			}
			if (limit == nil) != (c.want == 0) {
				t.Errorf("limit %v", limit)
			}
		})
	}
}

// TestOwnGatewaysGoFirst: sixteen older Gateways of another namespace, whose routes lead to a Service that it may use, do not
// take the effect of the Service's policy from a route of the policy's own namespace (point 8 of the security review).
//
// requirements: S63
func TestOwnGatewaysGoFirst(t *testing.T) {
	objects, policy := newObjects(t, 18, 0, 0)
	var paths []precedence.TrafficPath
	for i := range 18 {
		g := objects.Gateways[i]
		g.Namespace, g.Value.Namespace = "tenant", "tenant"
		at := g.Ref()
		user := object.Ref{Kind: object.KindHTTPRoute, Namespace: "tenant", Name: "user"}
		if i == 17 {
			user = route // on a Gateway that is shared with it
		}
		paths = append(paths, precedence.TrafficPath{Gateway: at, Route: user, Backends: []object.TargetRef{{Ref: service}}})
	}
	attachments := []Attachment{{Policy: policy, Target: object.TargetRef{Ref: service}}}
	limit := Find(Input{Objects: objects, Attachments: slices.Values(attachments), Paths: slices.Values(paths)}, &report.Report{})
	for i, path := range paths {
		if got, want := limit.Reached(policy, path.Gateway), i == 15 || i == 16; got != want {
			t.Errorf("Gateway %d: without the policy: %t", i, got)
		}
	}
}

// TestWordsOfTheSeventeenth: of an override it is said what becomes of the rules that it would hold for, and of no other policy.
func TestWordsOfTheSeventeenth(t *testing.T) {
	objects := compilertest.Admit(t, `
{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}
---
{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: plain}, spec: {targetRefs: [{group: "", kind: Service, name: cart}]}}
---
{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: override}, spec: {targetRefs: [{group: "", kind: Service, name: cart}], override: {forward: false}}}
---
{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: strategy}, spec: {targetRefs: [{group: "", kind: Service, name: cart}], strategy: AtomicOverrides, forward: false}}
---
{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackendTrafficPolicy, metadata: {name: traffic}, spec: {targetRefs: [{group: "", kind: Service, name: cart}], retryConstraint: {}}}`)
	for ref, subject := range ListPolicies(objects) {
		rep := &report.Report{}
		Tell(subject, []object.Ref{{Kind: object.KindGateway, Namespace: "default", Name: "web"}}, rep)
		got, want := strings.Contains(rep.Warnings()[0].Message, "override"), ref.Name == "override" || ref.Name == "strategy"
		if got != want {
			t.Errorf("%s: %s", ref, rep.Warnings()[0].Message)
		}
	}
}
