package status_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// subject is an object on a line of in.yaml.
type subject struct {
	ref  object.Ref
	line int
}

func (s subject) Ref() object.Ref             { return s.ref }
func (s subject) String() string              { return s.ref.String() }
func (s subject) Locate(string) (string, int) { return "in.yaml", s.line }

// formatRows gives each row as LINE OBJECT VERDICT/REASON PATH MESSAGE.
func formatRows(rows []status.Row) string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = strings.TrimSpace(fmt.Sprintf("%s:%d %s %s/%s %s %s", r.File, r.Line, r.Object, r.Verdict, r.Reason, r.Path, r.Message))
	}
	return strings.Join(lines, "\n")
}

// TestRows holds the verdict on each object: a line for each thing that there is to say, or that it is accepted.
func TestRows(t *testing.T) {
	cart, pay := subject{cartRoute, 7}, subject{object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "pay"}, 3}
	about := func(ref object.Ref, reason string) report.Problem {
		p := newProblem(ref, reason, "spec.a")
		p.File, p.Line = "in.yaml", 8
		return p
	}
	advice := about(cartRoute, "")
	advice.Advice = true
	for name, c := range map[string]struct {
		warnings []report.Problem
		want     string
	}{
		"nothing to say":             {nil, "in.yaml:3 HTTPRoute shop/pay Accepted/Accepted\nin.yaml:7 HTTPRoute shop/cart Accepted/Accepted"},
		"a warning":                  {[]report.Problem{about(cartRoute, "")}, "in.yaml:3 HTTPRoute shop/pay Accepted/Accepted\nin.yaml:8 HTTPRoute shop/cart Warning/ spec.a no"},
		"a warning with a reason":    {[]report.Problem{about(cartRoute, "BackendNotFound")}, "in.yaml:3 HTTPRoute shop/pay Accepted/Accepted\nin.yaml:8 HTTPRoute shop/cart Warning/BackendNotFound spec.a no"},
		"a refusal":                  {[]report.Problem{about(cartRoute, "NoMatchingParent")}, "in.yaml:3 HTTPRoute shop/pay Accepted/Accepted\nin.yaml:8 HTTPRoute shop/cart Refused/NoMatchingParent spec.a no"},
		"a policy in conflict":       {[]report.Problem{about(cartRoute, "Conflicted")}, "in.yaml:3 HTTPRoute shop/pay Accepted/Accepted\nin.yaml:8 HTTPRoute shop/cart Refused/Conflicted spec.a no"},
		"advice, and it is accepted": {[]report.Problem{advice}, "in.yaml:3 HTTPRoute shop/pay Accepted/Accepted\nin.yaml:7 HTTPRoute shop/cart Accepted/Accepted\nin.yaml:8 HTTPRoute shop/cart Advice/ spec.a no"},
		"an object without a status": {[]report.Problem{about(cartSvc.Ref, "")}, "in.yaml:3 HTTPRoute shop/pay Accepted/Accepted\nin.yaml:7 HTTPRoute shop/cart Accepted/Accepted\nin.yaml:8 Service shop/cart Warning/ spec.a no"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := formatRows(status.Rows([]report.Subject{cart, pay}, c.warnings)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if got := len(status.ProblemRows(c.warnings)); got != len(c.warnings) {
				t.Errorf("%d rows for %d problems", got, len(c.warnings))
			}
		})
	}
}

// TestIdlePolicies advises of policies of which nothing holds at an ancestor, in limpet's own entries alone.
func TestIdlePolicies(t *testing.T) {
	kind := gatewayv1.Kind("Gateway")
	ancestor := func(controller, condition string, holds metav1.ConditionStatus) gatewayv1.PolicyAncestorStatus {
		return gatewayv1.PolicyAncestorStatus{
			AncestorRef: gatewayv1.ParentReference{Kind: &kind, Name: "web"}, ControllerName: gatewayv1.GatewayController(controller),
			Conditions: []metav1.Condition{{Type: condition, Status: holds, Reason: "Overridden", Message: "overridden by another"}},
		}
	}
	policyOf := func(name string, ancestors ...gatewayv1.PolicyAncestorStatus) status.Object {
		return status.Object{Kind: "SessionPersistencePolicy", Metadata: status.Metadata{Namespace: "shop", Name: name}, Status: gatewayv1.PolicyStatus{Ancestors: ancestors}}
	}
	ours, programmed := string(status.ControllerName), "Programmed"
	objects := []status.Object{
		policyOf("idle", ancestor(ours, programmed, "False")), policyOf("used", ancestor(ours, programmed, "True")),
		policyOf("refused", ancestor(ours, "Accepted", "False")), policyOf("theirs", ancestor("example.com/other", programmed, "False")),
		{Kind: "Gateway", Status: gatewayv1.GatewayStatus{}},
	}
	var subjects []report.Subject
	for i, name := range []string{"idle", "used", "refused", "theirs"} {
		subjects = append(subjects, subject{object.Ref{Kind: object.KindSessionPolicy, Namespace: "shop", Name: name}, i + 1})
	}
	got := status.IdleAdvice(objects, subjects, status.ControllerName)
	want := []report.Problem{{
		Code:   report.PolicyIdle,
		Ref:    object.Ref{Kind: object.KindSessionPolicy, Namespace: "shop", Name: "idle"},
		Object: "SessionPersistencePolicy shop/idle", Message: "for Gateway web: overridden by another", File: "in.yaml", Line: 1, Reason: "Overridden", Advice: true,
	}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestDocumentsOfStatus writes statuses as YAML documents and as a List.
func TestDocumentsOfStatus(t *testing.T) {
	objects := []status.Object{
		{APIVersion: "v1", Kind: "A", Metadata: status.Metadata{Name: "a"}, Status: map[string]int{"n": 1}},
		{APIVersion: "v1", Kind: "B", Metadata: status.Metadata{Namespace: "ns", Name: "b", Generation: 7}, Status: map[string]int{}},
	}
	text, err := status.YAML(objects)
	if want := "apiVersion: v1\nkind: A\nmetadata:\n  name: a\nstatus:\n  \"n\": 1\n---\napiVersion: v1\nkind: B\nmetadata:\n  generation: 7\n  name: b\n  namespace: ns\nstatus: {}\n"; err != nil || string(text) != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, text, want)
	}
	for _, some := range [][]status.Object{nil, objects} {
		text, err := status.JSON(some, nil)
		var list struct {
			APIVersion, Kind string
			Items            []json.RawMessage
		}
		if err != nil || json.Unmarshal(text, &list) != nil || list.Kind != "List" || list.APIVersion != "v1" || list.Items == nil || len(list.Items) != len(some) {
			t.Errorf("got %v and\n%s", err, text)
		}
	}
	broken := []status.Object{{Kind: "A", Metadata: status.Metadata{Namespace: "ns", Name: "a"}, Status: make(chan int)}}
	if _, err := status.YAML(broken); err == nil || !strings.HasPrefix(err.Error(), "A ns/a: ") {
		t.Errorf("got %v", err)
	}
	if _, err := status.JSON(broken, nil); err == nil {
		t.Error("JSON writes what can't be written")
	}
}
