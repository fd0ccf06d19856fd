// Package inspect finds limpet's tokens, envelopes and tickets in a text, whichever, and says all there is to say of
// each: what it holds, what the filter would make of it, and what access logs call its session. It repeats nothing of
// the text.
package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/filter/judge"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Input is what pieces are judged by.
type Input struct {
	// Sessions are those of an input; nil where there is none.
	Sessions *compiler.Sessions
	// Keys is the ring; without any key nothing is verified.
	Keys policyconfig.KeyRing
	// At is when they are judged.
	At time.Time
}

// Finding is what there is to say of one piece. What is not known is left out.
type Finding struct {
	Place
	Kind Kind `json:"kind"`
	// Verified says that a key of the ring signed it, for a scope of the input. What it holds is otherwise what anybody
	// may have written.
	Verified bool `json:"verified"`
	// Verdicts are one for each policy that it may be for, or one of no policy.
	Verdicts []Verdict `json:"verdicts"`

	Key   *Named `json:"key,omitempty"`
	Scope *Named `json:"scope,omitempty"`
	// Ends is until when a ticket is good.
	Ends    *time.Time `json:"ends,omitempty"`
	Session *Session   `json:"session,omitempty"`
	// Logged are the words by which access logs have the session.
	Logged []Logged `json:"logged,omitempty"`

	// Policy and Opened are of a token that is verified.
	Policy *policyconfig.Policy `json:"-"`
	Opened token.Session        `json:"-"`
}

// Named is a tag, and the name that has it as far as that is known.
type Named struct {
	Name string `json:"name,omitempty"`
	Tag  string `json:"tag"`
}

// Session is what a token says.
type Session struct {
	Began    time.Time `json:"began"`
	LastSeen time.Time `json:"lastSeen"`
	Epoch    uint32    `json:"epoch"`
	ID       string    `json:"id,omitempty"`
	Host     *Host     `json:"host,omitempty"`
	Backend  *Named    `json:"backend,omitempty"`
	// Owner is the pod, or with a stable name that, whose host it was when the session came to it.
	Owner *Named `json:"owner,omitempty"`
	// Hidden says that the host and what comes with it are encrypted, and no key opens them.
	Hidden bool `json:"hidden,omitempty"`
}

// Verdict is what the filter makes of a piece under a policy.
type Verdict struct {
	Policy string `json:"policy,omitempty"`
	// Carrier is the session's cookie or header.
	Carrier string `json:"carrier,omitempty"`
	// Outcome is as counters and access logs have it, or "unverified".
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// Logged is a session's word in access logs while a key signs.
type Logged struct {
	Key     string `json:"key"`
	Session string `json:"session"`
}

// unverified is the outcome of what can't be judged.
const unverified = "unverified"

// inspector has what pieces are judged by.
type inspector struct {
	Input
	policies []policyconfig.Policy
	byScope  map[uint32][]int // policies by their scopes' tags
	ring     *token.Ring      // nil for none
	judge    *judge.Judge
	scopes   map[string]*token.Scope
	hosts    hosts
}

// Inspect gives what there is to say of each piece of a text.
func Inspect(text string, in Input) ([]Finding, error) {
	x := &inspector{Input: in, scopes: map[string]*token.Scope{}, byScope: map[uint32][]int{}}
	names := map[string]bool{}
	if in.Sessions != nil {
		x.policies, x.hosts = uniquePolicies(in.Sessions.Policies), newHosts(in.Sessions)
	}
	for i := range x.policies {
		p := &x.policies[i]
		tag := token.ScopeTag(p.Scope)
		x.byScope[tag] = append(x.byScope[tag], i)
		if !p.Envelope {
			names[carrierName(p)] = true
		}
	}
	if len(in.Keys.Keys) > 0 {
		var err error
		if x.ring, err = keyfile.Ring(in.Keys); err != nil {
			return nil, err
		}
		if x.judge, err = judge.New(x.policies, x.ring); err != nil {
			return nil, err
		}
	}
	var findings []Finding
	for _, p := range findPieces(text, names) {
		findings = append(findings, x.inspect(p))
	}
	return findings, nil
}

// uniquePolicies leaves out those that differ in their routes alone.
func uniquePolicies(all []policyconfig.Policy) (unique []policyconfig.Policy) {
	seen := map[string]bool{}
	for _, p := range all {
		p.Routes, p.Clusters = nil, nil
		text, err := json.Marshal(p)
		if err != nil || seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		unique = append(unique, p)
	}
	return unique
}

// carrierName is the name under which a session's value stands in a text: headers have none of their own case.
func carrierName(p *policyconfig.Policy) string {
	if p.Type == policyconfig.TypeHeader {
		return strings.ToLower(p.SessionName)
	}
	return p.SessionName
}

func (x *inspector) inspect(p *piece) Finding {
	f := Finding{Place: p.Place, Kind: p.kind}
	switch p.kind {
	case Value:
		f.Verdicts = x.judgeValue(p)
	case Ticket:
		x.inspectTicket(&f, p.text)
	default:
		x.inspectToken(&f, p)
	}
	return f
}

// judgeValue judges what stands under a session's name without a token's form.
func (x *inspector) judgeValue(p *piece) (all []Verdict) {
	for i := range x.policies {
		if of := &x.policies[i]; carrierName(of) == p.name && !of.Envelope {
			all = append(
				all,
				newVerdict(of, token.Malformed.String(), fmt.Sprintf("%d characters that are no token", len(p.text))),
			)
		}
	}
	return all
}

func (x *inspector) inspectToken(f *Finding, p *piece) {
	tok := p.text
	if p.kind == Envelope {
		tok, _, _ = token.CutEnvelope(p.text)
	}
	peeked, ok := token.Peek(tok)
	if !ok {
		f.Verdicts = []Verdict{
			{Outcome: token.Malformed.String(), Reason: "it has a token's length and beginning, and is none that limpet made"},
		}
		return
	}
	known := x.name(f, peeked)
	if x.ring == nil || len(known) == 0 {
		f.Verdicts = []Verdict{x.judgeUnknown(peeked.Key)}
		f.Session = x.describe(&peeked.Session, peeked.Hidden)
		return
	}
	session := peeked.Session
	opened, verdict := x.scope(f.Scope.Name).Open(tok, x.At.Unix())
	if verdict == token.Valid {
		f.Verified, f.Policy, f.Opened = true, &x.policies[known[0]], opened
		session, peeked.Hidden = opened, false
		f.Logged = x.listLogged(f.Scope.Name, &opened)
	}
	for _, i := range known {
		f.Verdicts = append(f.Verdicts, x.judgeToken(i, p, &session))
	}
	f.Session = x.describe(&session, peeked.Hidden)
}

// judgeToken asks the filter's engine.
func (x *inspector) judgeToken(policy int, p *piece, session *token.Session) Verdict {
	of := &x.policies[policy]
	outcome, host := x.judge.Request(policy, p.text, x.At.Unix())
	return newVerdict(of, outcome, x.explain(of, outcome, host, p.kind, session))
}

// judgeUnknown judges what is for no policy of the input, or can't be verified for want of keys.
func (x *inspector) judgeUnknown(tag uint32) Verdict {
	switch {
	case x.ring == nil:
		return Verdict{Outcome: unverified, Reason: "anybody may have written it: --keys or LIMPET_KEYS verifies it"}
	case !x.verifies(tag):
		return Verdict{Outcome: token.UnknownKey.String(), Reason: unknownKey}
	case x.Sessions == nil:
		return Verdict{Outcome: unverified, Reason: "its scope is that of a rule, which -f PATH names"}
	}
	return Verdict{Outcome: token.WrongScope.String(), Reason: "no rule of the input has its scope"}
}

// verifies tells whether a key of that tag is in the ring and verifies.
func (x *inspector) verifies(tag uint32) bool {
	for i, state := range keyfile.States(x.Keys, x.At) {
		if token.KeyTag(x.Keys.Keys[i].ID) == tag {
			return state != keyfile.Expired
		}
	}
	return false
}

// name names the key and the scope, and gives the policies that have it.
func (x *inspector) name(f *Finding, of token.Peeked) (known []int) {
	f.Key, f.Scope = &Named{Tag: hex32(of.Key)}, &Named{Tag: hex32(of.Scope)}
	for i := range x.Keys.Keys {
		if id := x.Keys.Keys[i].ID; token.KeyTag(id) == of.Key {
			f.Key.Name = id
		}
	}
	known = x.byScope[of.Scope]
	if len(known) > 0 {
		f.Scope.Name = x.policies[known[0]].Scope
	}
	return known
}

// listLogged gives the session's words in logs, from its beginning on.
func (x *inspector) listLogged(scope string, session *token.Session) (all []Logged) {
	for _, d := range x.scope(scope).Digests(session.Parts.ID, session.IssuedAt, x.At.Unix()) {
		all = append(all, Logged{x.Keys.Keys[d.Key].ID, d.Text})
	}
	return all
}

// scope gives a scope of the ring, derived once.
func (x *inspector) scope(name string) *token.Scope {
	if x.scopes[name] == nil {
		x.scopes[name] = x.ring.Scope(name)
	}
	return x.scopes[name]
}

func newVerdict(of *policyconfig.Policy, outcome, reason string) Verdict {
	return Verdict{
		Policy:  of.Name,
		Carrier: strings.ToLower(string(of.Type)) + " " + of.SessionName,
		Outcome: outcome,
		Reason:  reason,
	}
}

func hex32(tag uint32) string { return fmt.Sprintf("%08x", tag) }

func unixTime(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
