package ir

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// MaxHeaders is how many headers a match of Gateway API takes.
const MaxHeaders = 16

// TakesHeader tells whether each match of a rule of Gateway API, as it is written, can take one more header.
func TakesHeader(rule map[string]any) bool {
	matches, _ := rule["matches"].([]any)
	return !slices.ContainsFunc(matches, func(match any) bool {
		fields, _ := match.(map[string]any)
		headers, _ := fields["headers"].([]any)
		return len(headers) >= MaxHeaders
	})
}

// NewCopy gives a rule of Gateway API, as it is written, once more for one of its backends: for requests with a value
// in a header besides.
func (r *Rule) NewCopy(rule map[string]any, b *Backend, header, value string) map[string]any {
	rule = runtime.DeepCopyJSON(rule)
	NarrowMatches(rule, "matches", func(match map[string]any) {
		headers, _ := match["headers"].([]any)
		match["headers"] = append(headers, map[string]any{"name": header, "value": value})
	})
	r.KeepBackend(rule, "backendRefs", b)
	return rule
}

// NarrowMatches narrows each match of a rule as it is written. A rule without any matches all requests.
func NarrowMatches(rule map[string]any, field string, narrow func(match map[string]any)) {
	matches, _ := rule[field].([]any)
	if len(matches) == 0 {
		matches = []any{map[string]any{}}
		rule[field] = matches
	}
	for _, match := range matches {
		if fields, is := match.(map[string]any); is {
			narrow(fields)
		}
	}
}

// KeepBackend leaves a rule as it is written the first of its references to a backend, without its weight.
func (r *Rule) KeepBackend(rule map[string]any, field string, b *Backend) {
	at := slices.IndexFunc(r.Backends, func(ref BackendRef) bool { return ref.Backend == b })
	ref := rule[field].([]any)[at]
	fields, _ := ref.(map[string]any)
	delete(fields, "weight")
	rule[field] = []any{ref}
}

// ExplainUnequalRefs says which two of a rule's references, as they are written, lead to one backend and edit its
// requests in ways of their own; empty if none do. One session for both has room for one of the two.
func (r *Rule) ExplainUnequalRefs(rule map[string]any, field string) string {
	refs, _ := rule[field].([]any)
	first := map[*Backend]int{}
	for i, ref := range r.Backends {
		before, again := first[ref.Backend]
		switch {
		case ref.Backend == nil || i >= len(refs):
		case !again:
			first[ref.Backend] = i
		case !haveEqualEdits(refs[before], refs[i]):
			return fmt.Sprintf("%s[%d] and [%d] lead to one backend with different filters, and one session for both would "+
				"have the first's", field, before, i)
		}
	}
	return ""
}

// haveEqualEdits compares what references say of requests: filters in routes of Gateway API, headers in a
// VirtualService.
func haveEqualEdits(a, b any) bool {
	one, _ := a.(map[string]any)
	other, _ := b.(map[string]any)
	return reflect.DeepEqual(one["filters"], other["filters"]) && reflect.DeepEqual(one["headers"], other["headers"])
}
