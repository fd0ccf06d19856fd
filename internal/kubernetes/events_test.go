package kubernetes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/yaml"
)

// TestEvents: what has become bad or otherwise bad is told, what is good again too, and what is as it was is not.
func TestEvents(t *testing.T) {
	const accepted = "parents: [{parentRef: {kind: Gateway, name: edge}, conditions: [{type: Accepted, status: 'True', reason: Accepted}]}]"
	const refused = "parents: [{parentRef: {kind: Gateway, name: edge}, conditions: [{type: Accepted, status: 'False', reason: NotAllowed, message: not here}]}]"
	for _, c := range []struct {
		what, before, after string
		want                []string
	}{
		{"a good one is new", "", accepted, nil},
		{"a bad one is new", "", refused, []string{"Warning NotAllowed Gateway edge Accepted: False: not here"}},
		{"it becomes bad", accepted, refused, []string{"Warning NotAllowed Gateway edge Accepted: False: not here"}},
		{"it is bad still", refused, refused, nil},
		{"it is good again", refused, accepted, []string{"Normal Accepted Gateway edge Accepted: True"}},
		{
			"a listener's conflict", "", "listeners: [{name: web, conditions: [{type: Conflicted, status: 'True', reason: HostnameConflict}]}]",
			[]string{"Warning HostnameConflict web Conflicted: True"},
		},
		{"a condition of somebody else's kind", "", "conditions: [{type: Unrelated, status: 'False', reason: No}]", nil},
	} {
		recorder := events.NewFakeRecorder(10)
		before, after := map[string]any{}, map[string]any{}
		for text, into := range map[string]*map[string]any{c.before: &before, c.after: &after} {
			if err := yaml.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if c.before == c.after {
			before = after
		}
		(&Events{recorder}).tell(&corev1.ObjectReference{}, before, after)
		close(recorder.Events)
		var got []string
		for e := range recorder.Events {
			got = append(got, e)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
