package status

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// TestSessionsEnded: a route at generation 5 has the condition by what is known and by what is there already, with the time of the edit.
//
// requirements: S64
func TestSessionsEnded(t *testing.T) {
	at := func(hours int) time.Time { return oldTime.Add(time.Duration(hours) * time.Hour) }
	there := func(generation int64, hours int, words string) []metav1.Condition {
		c := newCondition(v1alpha1.ConditionSessionsEnded, true, v1alpha1.ReasonSessionsEnded, words)
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(at(hours))
		return []metav1.Condition{c}
	}
	ended := func(generation int64, hours int, why ...string) Ended {
		return Ended{Generation: generation, At: at(hours), Rules: []string{"a", "b"}, Why: why}
	}
	const words = "the sessions of 2 rules ended: "
	for name, c := range map[string]struct {
		known     Ended
		there     []metav1.Condition
		now       int
		want      string
		wantUntil time.Time
	}{
		"nothing has":                        {Ended{}, nil, 0, "", time.Time{}},
		"an edit has":                        {ended(5, 1, "x"), nil, 2, words + "x at 1", at(25)},
		"two have":                           {ended(5, 1, "x").Add(ended(5, 2, "x", "y")), nil, 2, words + "x; y at 2", at(26)},
		"one of an earlier generation has":   {ended(4, 1, "x"), nil, 2, "", time.Time{}},
		"one of two generations has":         {ended(4, 1, "x").Add(ended(5, 2, "y")), nil, 2, words + "y at 2", at(26)},
		"one has, a day ago":                 {ended(5, 1, "x"), nil, 25, "", time.Time{}},
		"one that a process before told of":  {Ended{}, there(5, 1, "told"), 24, "told at 1", at(25)},
		"so, a day ago":                      {Ended{}, there(5, 1, "told"), 25, "", time.Time{}},
		"so, of an earlier generation":       {Ended{}, there(4, 1, "told"), 2, "", time.Time{}},
		"so, and a later one":                {ended(5, 3, "x"), there(5, 1, "told"), 4, "told; later " + words + "x at 3", at(27)},
		"so, and what this one told before":  {ended(5, 4, "x", "y"), there(5, 3, "told; later "+words+"x"), 4, "told; later " + words + "x; y at 4", at(28)},
		"so, a day before a later one":       {ended(5, 25, "x"), there(5, 1, "told"), 25, words + "x at 25", at(49)},
		"another process saw the same":       {ended(5, 1, "x"), there(5, 1, words+"x"), 4, words + "x at 1", at(25)},
		"another process saw more":           {ended(5, 2, "y"), there(5, 2, words+"x; y"), 4, words + "x; y at 2", at(26)},
		"another process saw more, and then": {ended(5, 3, "y", "z"), there(5, 2, words+"x; y"), 4, words + "x; y; later " + words + "y; z at 3", at(27)},
		"the same edit once more":            {ended(5, 3, "x"), there(5, 1, words+"x"), 4, words + "x at 3", at(27)},
		"parts without end":                  {ended(5, 3, "x"), there(5, 1, "a; later b; later c; later d"), 4, "b; later c; later d; later " + words + "x at 3", at(27)},
	} {
		route := &gateway.Route{Kind: "HTTPRoute", Name: "r", Value: &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Generation: 5}}}
		b := &builder{now: metav1.NewTime(at(c.now)), Input: Input{Ended: map[object.Ref]Ended{route.Ref(): c.known}}}
		got := ""
		for _, one := range b.newWriter(route.Value.ObjectMeta).merge(c.there, ownedByRoute, b.sessionsEnded(route, c.there)...) {
			got += fmt.Sprintf("%s at %v", one.Message, one.LastTransitionTime.Sub(oldTime.Time).Hours())
		}
		if got != c.want || !b.until.Equal(c.wantUntil) {
			t.Errorf("%s: got %q until %v, want %q until %v", name, got, b.until, c.want, c.wantUntil)
		}
	}
}
