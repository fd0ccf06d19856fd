// Package describe answers what settings affect an object (GEP-713, "discoverability"): for every path that requests
// take through it, each field of its session persistence, of the balancing of requests without a session, of the
// retry budget and of timeouts and retries, with its value, where that is written, and
// what it overrides; for a policy, what it has an effect on and which of its fields are effective there.
//
// It decides nothing: it shows what packages policy and lower have decided.
package describe

import (
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// Description is what there is to say of an object.
type Description struct {
	// Object is its name, such as "HTTPRoute shop/cart"; Section a listener's or rule's name in it.
	Object  string `json:"object"`
	Section string `json:"sectionName,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	// Findings are what is wrong with an object that no request comes through.
	Findings []string `json:"findings,omitempty"`
	// Sessions is what is effective on each path through the object.
	Sessions []Session `json:"sessions,omitempty"`
	// Requests is how requests that no session pins are spread over each backend's hosts, and the budget of retries.
	Requests []UnpinnedRequests `json:"requests,omitempty"`
	// Retries is how long requests may take, and how often they are tried again: all of them, with a session or without.
	Retries []Retries `json:"retries,omitempty"`
	// Targets and Effects are those of a policy: what becomes of it at each target, and what it does on each path.
	Targets []Target `json:"targets,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
	// Budgets are those that a Gateway or a route uses.
	Budgets []gateway.Taken `json:"budgets,omitempty"`
}

// IsIdle reports whether nothing comes through the object.
func (d *Description) IsIdle() bool {
	return len(d.Targets)+len(d.Effects)+len(d.Sessions)+len(d.Requests) == 0
}

// TrafficPath is a path that requests take. Listeners through which the same is effective are put together.
type TrafficPath struct {
	Route    string   `json:"route"`
	Rule     int      `json:"rule"`
	RuleName string   `json:"ruleName,omitempty"`
	Via      []string `json:"via"`
	// Backends are those that one session spans.
	Backends []string `json:"backends,omitempty"`
}

func (w *TrafficPath) trafficPath() *TrafficPath { return w }

// Session is the session persistence on a path.
type Session struct {
	TrafficPath
	// On says that there are sessions, and By what turns them on or off; nil if nothing says.
	On bool    `json:"on"`
	By *Origin `json:"by,omitempty"`
	// Generation is the release of Gateway API whose meaning the rule has.
	Generation string `json:"generation,omitempty"`
	// Scope is what tokens are bound to, Name what cookie or header carries them.
	Scope string `json:"scope,omitempty"`
	Name  string `json:"name,omitempty"`
	// Refused says why the rule answers every request with an error instead.
	Refused []string `json:"refused,omitempty"`
	Fields  []Field  `json:"fields,omitempty"`
	// Notes are what is not effective though nothing stronger writes it, and which policies conflict.
	Notes []string `json:"notes,omitempty"`
}

// UnpinnedRequests is what becomes, on a path, of the requests that no session pins.
type UnpinnedRequests struct {
	TrafficPath
	Fields []Field `json:"fields"`
	// Notes are what is not effective though nothing stronger writes it.
	Notes []string `json:"notes,omitempty"`
}

// Retries is what a rule says of the times and retries of its requests.
type Retries struct {
	TrafficPath
	Fields []Field `json:"fields,omitempty"`
	// Notes are what is not effective, or not to the letter.
	Notes []string `json:"notes,omitempty"`
}

// Origin is where a value is written.
type Origin struct {
	Value string `json:"value,omitempty"`
	// Precedence is the level (docs/semantics.md, S5), 1 the strongest, and Block what is written there. Balancing and
	// retries have places (S53, S56) and no levels.
	Precedence int    `json:"precedence,omitempty"`
	Block      string `json:"block"`
	Object     string `json:"object,omitempty"`
	Path       string `json:"path,omitempty"`
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`

	ref object.Ref // the object, of what has no levels
}

// Field is one field: its value, where that comes from, and what it overrides, strongest first.
type Field struct {
	Name string `json:"name"`
	Origin
	Overrides []Origin `json:"overrides,omitempty"`
}

// Target is what a policy is attached to, or would be.
type Target struct {
	Target string `json:"target"`
	Path   string `json:"path"`
	// Reason and Message say why the policy has no effect there; empty if it has.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Effect is what a policy does on a path.
type Effect struct {
	TrafficPath
	// Effective are its fields that are effective, Overridden those that something stronger writes.
	Effective  []Field           `json:"effective,omitempty"`
	Overridden []OverriddenField `json:"overridden,omitempty"`
	Notes      []string          `json:"notes,omitempty"`
}

// OverriddenField is a field that a policy writes and that something stronger overrides.
type OverriddenField struct {
	Name string `json:"name"`
	Origin
	By Origin `json:"by"`
}

// newOrigin says where a value is written.
func (d *describer) newOrigin(w precedence.FieldValue) Origin {
	o := Origin{Value: w.Text, Precedence: int(w.Level), Block: w.Level.String(), Path: w.Path}
	if w.Level != precedence.BuiltIn {
		o.Object = w.Origin.String()
		o.File, o.Line = d.locate(w.Origin.Ref, w.Path)
	}
	return o
}

// locate gives the file and line of a field of an object.
func (d *describer) locate(ref object.Ref, path string) (file string, line int) {
	if s := d.Subjects[ref]; s != nil {
		return s.Locate(path)
	}
	return "", 0
}
