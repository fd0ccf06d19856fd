//go:build !tinygo

package policyconfig

import (
	"bytes"
	"reflect"
)

// Written is a policy as it stands in the text of a configuration. It does not change.
type Written struct {
	policy    Policy // complete, and with memory of its own
	pinHeader string
	text      []byte
}

// Write writes a policy for configurations with a pin header. The error is that of Marshal for a configuration with
// no other policy.
func Write(p Policy, pinHeader string) (*Written, error) {
	c := DefaultConfig()
	c.PinHeader, c.Policies = pinHeader, []Policy{p}
	c, data, err := Encode(c)
	if err != nil {
		return nil, err
	}
	_, text, _ := bytes.Cut(data, []byte(listBegin))
	return &Written{c.Policies[0], pinHeader, bytes.TrimSuffix(text, []byte(listEnd))}, nil
}

// What stands before and after the policies of a configuration, and what does if there are none. No text in JSON has a
// line break in it.
const (
	listBegin = "\n  \"policies\": [\n"
	listEnd   = "\n  ]\n}\n"
	listEmpty = "\n  \"policies\": []\n}\n"
)

// Is reports whether Write of p gives the same.
func (w *Written) Is(p Policy, pinHeader string) bool {
	p.complete()
	return w.pinHeader == pinHeader && reflect.DeepEqual(&w.policy, &p)
}

// EncodeWith is Encode of c with the policies, whose texts are put together. Nobody may change the policies of the
// configuration that it gives.
func EncodeWith(c Config, policies []*Written) (complete Config, data []byte, err error) {
	c.Policies = nil
	complete, head, err := Encode(c)
	size, sound := len(head), err == nil && len(policies) <= MaxPolicies
	c.Policies = make([]Policy, len(policies))
	for i, w := range policies {
		c.Policies[i] = w.policy
		size += len(w.text) + len(listNext)
		sound = sound && w.pinHeader == c.PinHeader
	}
	if !sound || size > MaxBytes || !distinct(c.Policies) {
		return Encode(c) // says what is wrong
	}
	complete.Policies = c.Policies
	return complete, joined(head, policies, size), nil
}

// distinct reports whether policies have names and routes of their own.
func distinct(policies []Policy) bool {
	var d decoder
	at := (*jsonPath)(nil).child("policies")
	d.checkNames(at, policies)
	d.checkRoutes(at, policies)
	return len(d.errs) == 0
}

// listNext stands between two policies.
const listNext = ",\n"

// joined puts policies into a configuration without any.
func joined(head []byte, policies []*Written, size int) []byte {
	if len(policies) == 0 {
		return head
	}
	data := make([]byte, 0, size+len(listBegin)+len(listEnd))
	data = append(data, bytes.TrimSuffix(head, []byte(listEmpty))...)
	data = append(data, listBegin...)
	for i, w := range policies {
		if i > 0 {
			data = append(data, listNext...)
		}
		data = append(data, w.text...)
	}
	return append(data, listEnd...)
}
