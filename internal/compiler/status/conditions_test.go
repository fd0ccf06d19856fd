package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

var (
	oldTime = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	newTime = metav1.NewTime(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
)

func oldCondition(kind string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Was", ObservedGeneration: generation, LastTransitionTime: oldTime}
}

// formatCondition is a condition as TYPE=STATUS/REASON/GENERATION, with an apostrophe if its time is the old one.
func formatCondition(c metav1.Condition) string {
	text := fmt.Sprintf("%s=%s/%s/%d", c.Type, c.Status, c.Reason, c.ObservedGeneration)
	if c.LastTransitionTime.Equal(&oldTime) {
		text += "'"
	}
	return text
}

// TestMerge shows what becomes of conditions that are there already, at generation 5.
//
// requirements: 2C.17, S64
func TestMerge(t *testing.T) {
	ours := newCondition("A", true, "Is", "")
	for name, c := range map[string]struct {
		there []metav1.Condition
		want  string
	}{
		"nothing is there":                                   {nil, "A=True/Is/5"},
		"the status changes, and the time":                   {[]metav1.Condition{oldCondition("A", "False", 4)}, "A=True/Is/5"},
		"the status stays, and the time":                     {[]metav1.Condition{oldCondition("A", "True", 4)}, "A=True/Is/5'"},
		"another's stays, in its place":                      {[]metav1.Condition{oldCondition("X", "True", 1), oldCondition("A", "False", 4), oldCondition("Y", "True", 0)}, "X=True/Was/1' A=True/Is/5 Y=True/Was/0'"},
		"a greater generation stays":                         {[]metav1.Condition{oldCondition("A", "False", 6)}, "A=False/Was/6'"},
		"one of ours that is over goes":                      {[]metav1.Condition{oldCondition("Ours", "True", 5)}, "A=True/Is/5"},
		"but not if another writer knows a newer generation": {[]metav1.Condition{oldCondition("Ours", "True", 6)}, "Ours=True/Was/6' A=True/Is/5"},
		"eight of others leave no room":                      {eightConditions(), "0=True/Was/0' 1=True/Was/0' 2=True/Was/0' 3=True/Was/0' 4=True/Was/0' 5=True/Was/0' 6=True/Was/0' 7=True/Was/0'"},
	} {
		var got []string
		for _, m := range (conditionWriter{5, newTime}).merge(c.there, []string{"Ours"}, ours) {
			got = append(got, formatCondition(m))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
	}
}

func eightConditions() (all []metav1.Condition) {
	for i := range 8 {
		all = append(all, oldCondition(fmt.Sprint(i), "True", 0))
	}
	return all
}

// TestAtMostSixteenAncestors counts other controllers' entries too, which stay.
//
// requirements: 2C.16, S63
func TestAtMostSixteenAncestors(t *testing.T) {
	foreign := gatewayv1.PolicyAncestorStatus{ControllerName: "example.com/other"}
	for others, ours := range map[int]int{0: 16, 3: 13, 16: 0} {
		var there gatewayv1.PolicyStatus
		for range others {
			there.Ancestors = append(there.Ancestors, foreign)
		}
		var all []entry
		for i := range 20 {
			all = append(all, entry{object.TargetRef{Ref: object.Ref{Kind: object.KindGateway, Namespace: "a", Name: fmt.Sprint(i)}}, []metav1.Condition{newCondition("A", true, "Is", "")}})
		}
		s := (&builder{now: newTime, Input: Input{Objects: &resource.Objects{}}}).newPolicyStatus(metav1.ObjectMeta{}, there, all)
		if got := len(s.Ancestors) - others; got != ours {
			t.Errorf("with %d others there are %d entries, want %d", others, got, ours)
		}
	}
}

// TestMessagesAreBounded shows that a message does not grow with the number of problems.
func TestMessagesAreBounded(t *testing.T) {
	var problems []report.Problem
	for i := range 11 {
		problems = append(problems, report.Problem{Path: "p", Message: fmt.Sprint(i)})
	}
	want := "p: 0; p: 1; p: 2; p: 3; p: 4; p: 5; p: 6; p: 7; and 3 more"
	if got := joinProblems(problems); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSameParent compares references with their defaults filled in.
func TestSameParent(t *testing.T) {
	ns, other, group, section := gatewayv1.Namespace("a"), gatewayv1.Namespace("b"), gatewayv1.Group(gatewayv1.GroupName), gatewayv1.SectionName("s")
	port := gatewayv1.PortNumber(80)
	ref := gatewayv1.ParentReference{Name: "g"}
	for name, c := range map[string]struct {
		other gatewayv1.ParentReference
		want  bool
	}{
		"itself":                {ref, true},
		"with its defaults":     {gatewayv1.ParentReference{Group: &group, Namespace: &ns, Name: "g"}, true},
		"another namespace":     {gatewayv1.ParentReference{Namespace: &other, Name: "g"}, false},
		"another name":          {gatewayv1.ParentReference{Name: "h"}, false},
		"a section":             {gatewayv1.ParentReference{Name: "g", SectionName: &section}, false},
		"a port":                {gatewayv1.ParentReference{Name: "g", Port: &port}, false},
		"another kind, by name": {gatewayv1.ParentReference{Name: "g", Kind: new(gatewayv1.Kind)}, false},
	} {
		if got := sameParent(ref, c.other, "a"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
