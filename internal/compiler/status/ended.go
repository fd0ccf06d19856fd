package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// Ended are the sessions of a route that edits have ended.
type Ended struct {
	// Generation is the route's at the last of these edits, and At when that took effect.
	Generation int64
	At         time.Time
	// Rules are those whose sessions they were, each once, and Why says what has ended them, each in a sentence.
	Rules, Why []string
	// File and Line are where the route has the first of these rules, or had it; empty where a key has ended them.
	File string
	Line int
}

// TellEnded is how long a condition tells of sessions that have ended.
const TellEnded = 24 * time.Hour

// Add returns what an earlier and a later edit have ended. An earlier one of another generation, or from TellEnded
// before, is left out.
func (e Ended) Add(later Ended) Ended {
	if e.Generation != later.Generation || later.At.Sub(e.At) >= TellEnded {
		return later
	}
	later.Rules, later.Why = addOnce(e.Rules, later.Rules), addOnce(e.Why, later.Why)
	return later
}

func addOnce(to, more []string) []string {
	to = slices.Clip(to)
	for _, text := range more {
		to = appendOnce(to, text)
	}
	return to
}

// endedWords stand between the rules and what has ended their sessions.
const endedWords = " ended: "

// String says how many rules it is about, and what has ended their sessions.
func (e Ended) String() string {
	rules, why := "a rule", e.Why
	if len(e.Rules) > 1 {
		rules = fmt.Sprint(len(e.Rules), " rules")
	}
	if len(why) > maxProblems {
		why = append(slices.Clone(why[:maxProblems]), fmt.Sprintf("and %d more", len(why)-maxProblems))
	}
	return fmt.Sprintf("the sessions of %s%s%s", rules, endedWords, strings.Join(why, "; "))
}

// endedLater separates, in a message, what one process has told from what another one, or one after a restart, has told
// since.
const endedLater, maxEndedParts = "; later ", 4

// addTo returns the message of a condition that is there already, with what this process knows. What another process
// has told, or one before a restart, stays. A part that begins with this process's first reason is its own, and is
// replaced.
func (e Ended) addTo(there string) string {
	if !slices.ContainsFunc(e.Why, func(why string) bool { return !strings.Contains(there, why) }) {
		return there
	}
	parts := slices.DeleteFunc(strings.Split(there, endedLater), func(part string) bool {
		_, why, _ := strings.Cut(part, endedWords)
		return strings.HasPrefix(why, e.Why[0])
	})
	parts = append(parts, e.String())
	return strings.Join(parts[max(0, len(parts)-maxEndedParts):], endedLater)
}

// sessionsEnded is the condition of a route whose sessions an edit has ended, until its next generation and for a day
// at most. What is there already stays: after a restart it is all that is known. It has a transition time of its own,
// the last edit's.
func (b *builder) sessionsEnded(route *gateway.Route, there []metav1.Condition) []metav1.Condition {
	was := meta.FindStatusCondition(there, v1alpha1.ConditionSessionsEnded)
	if was != nil &&
		(was.ObservedGeneration != route.Value.Generation || !was.LastTransitionTime.Add(TellEnded).After(b.now.Time)) {
		was = nil
	}
	if e, is := b.Ended[route.Ref()]; is && e.Generation == route.Value.Generation {
		now := newCondition(v1alpha1.ConditionSessionsEnded, true, v1alpha1.ReasonSessionsEnded, e.String())
		now.LastTransitionTime = metav1.NewTime(e.At.UTC().Truncate(time.Second))
		if was != nil {
			now.Message = e.addTo(was.Message)
			now.LastTransitionTime = later(now.LastTransitionTime, was.LastTransitionTime)
		}
		was = &now
	}
	if was == nil {
		return nil
	}
	until := was.LastTransitionTime.Add(TellEnded)
	if !until.After(b.now.Time) {
		return nil
	}
	if b.until.IsZero() || until.Before(b.until) {
		b.until = until
	}
	return []metav1.Condition{*was}
}

func later(a, b metav1.Time) metav1.Time {
	if a.Before(&b) {
		return b
	}
	return a
}
