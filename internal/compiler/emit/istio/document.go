package istio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// header stands at the top of the file.
const header = "# Written by limpet from session policies and routes; change those and compile again.\n"

// document is an object for the API server.
type document map[string]any

// newDocument is an object for a set of proxies, with the labels by which all of them are found again.
func (e *emitter) newDocument(apiVersion, kind string, p *proxySet, spec map[string]any) document {
	return document{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{
			"name": p.name, "namespace": p.namespace, "labels": object.OwnerLabels(e.Owner),
		},
		"spec": spec,
	}
}

// mayWrite tells whether the resources of a set of proxies may be written. If not, its rules go without sessions, and
// are told.
func (e *emitter) mayWrite(p *proxySet) bool {
	if other := e.named[p.ref()]; other != p {
		e.withholdAll(
			p,
			fmt.Sprintf(
				"limpet's objects for %s, which goes first, are called %s/%s too",
				other.first.Subject,
				p.namespace,
				p.name,
			),
		)
		return false
	}
	may := true
	kinds := []string{kindEnvoyFilter}
	if !e.isNative() {
		kinds = append(kinds, e.extensionKind())
	}
	for _, kind := range kinds {
		ref := object.Ref{Kind: kind, Namespace: p.namespace, Name: p.name}
		if e.plan.MayWrite(ref, e.Owner, e.rep) {
			continue
		}
		may = false
		e.withholdAll(p, ir.WhyTaken(ref))
	}
	return may
}

// withholdAll takes their sessions from all rules of a set of proxies.
func (e *emitter) withholdAll(p *proxySet, why string) {
	for _, r := range p.routes {
		e.withhold(r.rule, rulePath(r.rule), why)
	}
}

// ref is the name of the resources for a set of proxies, of whatever kind.
func (p *proxySet) ref() object.Ref { return object.Ref{Namespace: p.namespace, Name: p.name} }

// nameProxySets settles whose resources have a name, of sets with sessions: those of Istio's Gateways a/b-c and a-b/c
// have one, and so have those of a Gateway of Gateway API in the root namespace that is called a-b-c. The oldest
// Gateway's keep it.
func (e *emitter) nameProxySets() {
	sets := slices.DeleteFunc(slices.Clone(e.proxySets), func(p *proxySet) bool {
		return !slices.ContainsFunc(p.rules, func(r *ir.AttachedRule) bool { return r.Sessions.On() })
	})
	slices.SortStableFunc(sets, func(a, b *proxySet) int { return e.plan.Compare(a.first.Origin, b.first.Origin) })
	e.named = map[object.Ref]*proxySet{}
	for _, p := range sets {
		if e.named[p.ref()] == nil {
			e.named[p.ref()] = p
		}
	}
}

// toYAML writes documents one after the other, each with its keys in alphabetical order.
func toYAML(documents []document) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(header)
	for i, d := range documents {
		text, err := yaml.Marshal(d)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// convertMessage is a message as a part of a document. A part of a route or cluster is not valid by itself; what is
// packed in it is a whole.
func (e *emitter) convertMessage(m proto.Message) any {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	var value any
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	e.fail(err)
	return value
}

// pack wraps a message that Envoy finds by its type, once it is found valid.
func (e *emitter) pack(m proto.Message) *anypb.Any {
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			e.fail(fmt.Errorf("the Envoy configuration is not valid: %w", err))
		}
	}
	packed, err := anypb.New(m)
	e.fail(err)
	return packed
}

// fail keeps the first error.
func (e *emitter) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}
