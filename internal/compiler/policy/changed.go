package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// ChangedValue is an effective value that an edit changes elsewhere than in the rule that has it: a new default, or any
// other word of a policy on something above the rule.
type ChangedValue struct {
	Route *gateway.Route
	Rule  int
	// Message says which value it is, what it was, and who says so.
	Message string
}

// FindChangedValues compares what was effective before an edit of the input with what is effective after it, on each
// path that requests can take in both. What a rule says inline is in front of its author, and not listed.
func FindChangedValues(before, after *Decisions) (changed []ChangedValue) {
	was, silent := before.indexByPath()
	listeners, paths := map[ChangedValue][]string{}, map[ruleKey]int{}
	for _, is := range after.Paths {
		paths[ruleKey{nil, is.Route, is.Rule}]++
		old := was[is.pathKey()]
		if old == nil && silent[listenerKey(is.Path.Gateway, is.Path.Listener, is.Route, is.Rule)] {
			old = &Decision{} // nothing reached the rule
		}
		if old == nil {
			continue
		}
		for _, message := range describeChanges(&old.Effective, &is.Effective) {
			c := ChangedValue{is.Route, is.Rule, message}
			if listeners[c] == nil {
				changed = append(changed, c)
			}
			listeners[c] = append(listeners[c], is.Path.Gateway.String()+", listener "+is.Path.Listener)
		}
	}
	for i := range changed {
		c := &changed[i]
		if through := listeners[*c]; len(through) < paths[ruleKey{nil, c.Route, c.Rule}] {
			c.Message += "; through " + strings.Join(slices.Compact(through), " and ")
		}
	}
	return changed
}

// indexByPath gives what was decided by its path, and the rules on listeners for which nothing was.
func (d *Decisions) indexByPath() (was map[string]*Decision, silent map[string]bool) {
	was, silent = map[string]*Decision{}, map[string]bool{}
	for key := range d.rules {
		silent[listenerKey(key.listener.Gateway().Ref(), key.listener.Name(), key.route, key.rule)] = true
	}
	for _, path := range d.Paths {
		was[path.pathKey()] = path
		delete(silent, listenerKey(path.Path.Gateway, path.Path.Listener, path.Route, path.Rule))
	}
	return was, silent
}

// listenerKey is the same for a rule on a listener before and after an edit, and pathKey for a path.
func listenerKey(on object.Ref, listener string, route *gateway.Route, rule int) string {
	return fmt.Sprint(RuleIdentity(route, rule).Scope(), on, listener)
}

func (d *Decision) pathKey() string {
	return fmt.Sprint(listenerKey(d.Path.Gateway, d.Path.Listener, d.Route, d.Rule), d.Path.Backends)
}

// describeChanges describes each field whose value has changed, or a change of the session as a whole.
func describeChanges(was, is *precedence.Effective) (messages []string) {
	if was.On != is.On {
		by := is.TurnedOnBy
		if !is.On && len(is.Fields) > 0 {
			by = is.Fields[0].FieldValue
		}
		if by.Level == precedence.InlineRule || by.Path == "" {
			return nil
		}
		return []string{fmt.Sprintf("sessions are %s now, by %s", onOrOff(is.On), formatSource(by))}
	}
	if !is.On {
		return nil
	}
	for _, f := range is.Fields {
		old := was.Field(f.Name)
		inline := f.Level == precedence.InlineRule ||
			f.Level == precedence.BuiltIn && old != nil && old.Level == precedence.InlineRule
		if old == nil || inline || old.Text == f.Text && old.Unset == f.Unset {
			continue
		}
		messages = append(messages, fmt.Sprintf("%s is %s by %s, and was %s by %s",
			f.Name, textOrNone(f.Text), formatSource(f.FieldValue), textOrNone(old.Text), formatSource(old.FieldValue)))
	}
	return messages
}

func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func textOrNone(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// formatSource says where a value is written.
func formatSource(w precedence.FieldValue) string {
	if w.Level == precedence.BuiltIn {
		return "the built-in default"
	}
	return fmt.Sprintf("%s (%s, %s)", w.Origin, w.Path, w.Level)
}
