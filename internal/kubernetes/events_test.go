package kubernetes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
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
		{
			"nobody has them yet", "", "conditions: [{type: Programmed, status: 'False', reason: Pending}]\n" +
				"listeners: [{name: web, conditions: [{type: Programmed, status: 'False', reason: Pending}]}]",
			[]string{"Warning Pending Programmed: False"},
		},
		{"a condition of somebody else's kind", "", "conditions: [{type: Unrelated, status: 'False', reason: No}]", nil},
	} {
		recorder := record.NewFakeRecorder(10)
		before, after := map[string]any{}, map[string]any{}
		for text, into := range map[string]*map[string]any{c.before: &before, c.after: &after} {
			if err := yaml.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if c.before == c.after {
			before = after
		}
		newEvents(recorder).tell(&corev1.ObjectReference{}, before, after)
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

// TestEventsAreFew: a namespace whose objects turn from good to bad and back without end is told of at a rate, and others are told of
// meanwhile.
func TestEventsAreFew(t *testing.T) {
	const rounds = 10 * eventsAtOnce
	recorder := record.NewFakeRecorder(2 * rounds)
	all := newEvents(recorder)
	status := func(is string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "status": is, "reason": "Some"}}}
	}
	for range rounds {
		all.tell(&corev1.ObjectReference{Namespace: "noisy"}, status("True"), status("False"))
		all.tell(&corev1.ObjectReference{Namespace: "noisy"}, status("False"), status("True"))
	}
	if n := len(recorder.Events); n < eventsAtOnce || n > eventsAtOnce+10 {
		t.Errorf("%d events of one namespace", n)
	}
	before := len(recorder.Events)
	all.tell(&corev1.ObjectReference{Namespace: "quiet"}, status("True"), status("False"))
	if len(recorder.Events) != before+1 {
		t.Error("another namespace is not told of")
	}
}
