package status

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/grant"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// ControllerName is who limpet is in the entries that it writes into status, unless it is called otherwise.
const ControllerName = v1alpha1.ControllerName

// Object is an object's status as a document that an API server takes for the status subresource.
type Object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	// Status is of the type that the kind's Go type has.
	Status any `json:"status"`
	// Until is when it becomes another one by time alone; zero for never.
	Until time.Time `json:"-"`
}

// Ref is the object.
func (o Object) Ref() object.Ref {
	return object.Ref{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
}

// Metadata is what tells which object, and which state of it, a status belongs to.
type Metadata struct {
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Generation int64  `json:"generation,omitempty"`
}

// Input is what status is written from.
type Input struct {
	Objects     *resource.Objects
	Attachments *gateway.AttachmentStatus
	// Decisions is what holds where, and what became of policies.
	Decisions *policy.Decisions
	// Traffic are the ways that requests take.
	Traffic []*lower.BackendTraffic
	// Problems are what there is to say of the input.
	Problems []report.Problem
	// Withheld says why the target goes without the session that was decided on a path, empty where it does not; nil is
	// never.
	Withheld func(*policy.Decision) string
	// Current gives what an object's status is now; nil where that is in its document.
	Current func(object.Ref) json.RawMessage
	// Now is the transition time of conditions that are new or have changed.
	Now time.Time
	// Proxies has, by their keys, the Gateways for which proxies are run.
	Proxies map[string]Proxies
	// Unacknowledged has, by their keys, the Gateways whose listeners no connected Envoy has acknowledged.
	Unacknowledged map[string]Unacknowledged
	// Ended has the routes of which edits have ended sessions.
	Ended map[object.Ref]Ended
	// Some are the objects whose statuses are written; nil for all.
	Some *Some
}

// Some are objects whose statuses are written, and not those of all others.
type Some struct {
	Refs map[object.Ref]bool
	// Attached counts the routes on each listener of their Gateways, without those that are refused as a whole.
	Attached map[gateway.ListenerKey]int
}

// wants tells whether the status of an object is written.
func (in *Input) wants(ref object.Ref) bool { return in.Some == nil || in.Some.Refs[ref] }

// wanted gives those of some objects whose statuses are written.
func wanted[O interface{ Ref() object.Ref }](b *builder, all []O) (some []O) {
	for _, o := range all {
		if b.wants(o.Ref()) {
			some = append(some, o)
		}
	}
	return some
}

// Build gives the status of every object that has one: GatewayClasses, Gateways, routes, policies, XBackends, routes
// with a Host, and Services that policies affect, in this order, each kind in the order in which it was admitted. A
// Gateway whose class is not in the input has none, for it is another controller's; so have parentRefs that lead to it.
func Build(in Input) []Object {
	b := &builder{
		crowded:      crowdedPaths{},
		Input:        in,
		now:          metav1.NewTime(in.Now.UTC().Truncate(time.Second)),
		problems:     map[object.Ref][]report.Problem{},
		refusedRules: map[object.Ref]refusedRules{},
		index:        indexDecisions(in.Decisions),
	}
	for _, p := range in.Problems {
		if !p.Advice || p.Reason != "" {
			b.problems[p.Ref] = append(b.problems[p.Ref], p)
		}
	}
	b.grants = grant.New(b.Objects)
	// or else nothing asks for it
	if o := b.Objects; len(o.LoadBalancers)+len(o.TrafficPolicies)+len(o.BackendTLS)+len(o.Backends) > 0 {
		b.reachability = findReachability(b.Objects.Routes, b.grants, b.Attachments, b.Traffic)
	}
	b.loadBalancersAt = b.indexLoadBalancers()
	b.trafficAt = indexTraffic(b.Traffic)
	b.countRefusedRules()
	b.writeClasses()
	for _, g := range b.Attachments.Gateways {
		if b.wants(g.Gateway.Ref()) {
			b.writeGateway(g)
		}
	}
	b.writeRoutes()
	b.writePolicies()
	b.writeLoadBalancers()
	b.writeBackendTLS()
	b.writeXBackends()
	b.writeHostRoutes()
	b.writeAuthServices()
	b.writeServices()
	return b.objects
}

type builder struct {
	Input
	now          metav1.Time
	problems     map[object.Ref][]report.Problem
	index        decisionIndex
	reachability reachability
	grants       grant.Grants
	// loadBalancersAt are the LoadBalancerPolicies that hold on each target.
	loadBalancersAt map[object.TargetRef][]object.Ref
	refusedRules    map[object.Ref]refusedRules // of routes
	trafficAt       map[trafficKey][]*lower.BackendTraffic
	crowded         crowdedPaths
	objects         []Object
	until           time.Time // of the object that is being written
}

func (b *builder) addObject(kind metav1.TypeMeta, meta metav1.ObjectMeta, status any) {
	b.objects = append(b.objects, Object{
		APIVersion: kind.APIVersion, Kind: kind.Kind,
		Metadata: Metadata{Namespace: meta.Namespace, Name: meta.Name, Generation: meta.Generation},
		Status:   status, Until: b.until,
	})
	b.until = time.Time{}
}

// parseStatus reads an object's current status. A status that does not parse counts as empty: only controllers write
// there, and an API server would have refused it.
func parseStatus[T, V any](b *builder, o *resource.Object[V]) (status T) {
	if b.Current != nil {
		if text := b.Current(o.Ref()); text == nil || json.Unmarshal(text, &status) != nil {
			return *new(T)
		}
		return status
	}
	text, err := json.Marshal(o.Status)
	if err != nil || json.Unmarshal(text, &status) != nil {
		return *new(T)
	}
	return status
}
