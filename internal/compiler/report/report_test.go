package report_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// subject is an object in a file, whose fields stand on the lines given.
type subject struct {
	ref   object.Ref
	file  string
	lines map[string]int
}

func (s subject) Ref() object.Ref                  { return s.ref }
func (s subject) String() string                   { return s.ref.String() }
func (s subject) Locate(path string) (string, int) { return s.file, s.lines[path] }

// renamed is a subject whose fields are called otherwise than where they are reported.
type renamed struct{ subject }

func (renamed) Path(path string) string { return strings.Replace(path, "spec.rules", "spec.routes", 1) }

var cart = subject{routeOf("cart"), "in.yaml", map[string]int{"": 1, "spec": 4, "spec.a": 5, "spec.b": 6, "spec.routes[0]": 9}}

func routeOf(name string) object.Ref {
	return object.Ref{Kind: object.KindHTTPRoute, Namespace: "default", Name: name}
}

// TestProblemsOnALine leaves out what is not known.
func TestProblemsOnALine(t *testing.T) {
	for want, p := range map[string]report.Problem{
		"in.yaml:12: HTTPRoute default/cart: spec.a: Required value": {Object: "HTTPRoute default/cart", Path: "spec.a", Message: "Required value", File: "in.yaml", Line: 12},
		"in.yaml: broken":                       {Message: "broken", File: "in.yaml"},
		"HTTPRoute default/cart: no good":       {Object: "HTTPRoute default/cart", Message: "no good"},
		"HTTPRoute default/cart: not line zero": {Object: "HTTPRoute default/cart", Message: "not line zero", Line: 3},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestKindsOfProblems holds what each way of reporting gives: the message, the place, the reason, and whether it is an
// error, or only that with strict.
func TestKindsOfProblems(t *testing.T) {
	path := field.NewPath("spec", "a")
	invalid := field.Invalid(path, 7, "must be 8")
	const text = `Invalid value: 7: must be 8`
	warning := func(reason string, advice bool, message string) report.Problem {
		return report.Problem{Code: report.InvalidField, Ref: cart.ref, Object: cart.String(), Path: "spec.a", Message: message, File: "in.yaml", Line: 5, Reason: reason, Advice: advice}
	}
	leftOut := func(reason, message string) report.Problem {
		p := warning(reason, false, message)
		p.LeftOut = true
		return p
	}
	for name, c := range map[string]struct {
		say               func(*report.Report)
		want              report.Problem
		unreadable, fatal bool // with strict
	}{
		"Error":          {func(r *report.Report) { r.Error(report.InvalidField, cart, invalid) }, leftOut("", text), false, true},
		"ErrorAt":        {func(r *report.Report) { r.ErrorAt(report.InvalidField, cart, "spec.a", "bad") }, leftOut("", "bad"), false, true},
		"ErrorForAt":     {func(r *report.Report) { r.ErrorForAt(report.InvalidField, cart, "Pending", "spec.a", "bad") }, leftOut("Pending", "bad"), false, true},
		"UnreadableAt":   {func(r *report.Report) { r.UnreadableAt(report.InvalidField, cart, "spec.a", "bad") }, leftOut("", "bad"), true, true},
		"Warn":           {func(r *report.Report) { r.Warn(report.InvalidField, cart, invalid) }, warning("", false, text), false, true},
		"WarnAt":         {func(r *report.Report) { r.WarnAt(report.InvalidField, cart, "spec.a", "hm") }, warning("", false, "hm"), false, true},
		"WarnFor":        {func(r *report.Report) { r.WarnFor(report.InvalidField, cart, "Pending", invalid) }, warning("Pending", false, text), false, true},
		"WarnForAt":      {func(r *report.Report) { r.WarnForAt(report.InvalidField, cart, "Pending", "spec.a", "hm") }, warning("Pending", false, "hm"), false, true},
		"NotSupportedBy": {func(r *report.Report) { r.NotSupportedBy(report.InvalidField, cart, "istio", "spec.a", "no way") }, warning("", false, "not supported by istio: no way"), false, true},
		"Advise":         {func(r *report.Report) { r.Advise(report.InvalidField, cart, path, "note") }, warning("", true, "note"), false, false},
		"AdviseAt":       {func(r *report.Report) { r.AdviseAt(report.InvalidField, cart, "spec.a", "note") }, warning("", true, "note"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &report.Report{}
			c.say(r)
			all := append(slices.Clone([]report.Problem(r.Errors(false))), r.Warnings()...)
			if !slices.Equal(all, []report.Problem{c.want}) {
				t.Errorf("got %+v, want %+v", all, c.want)
			}
			if (len(r.Unreadable()) > 0) != c.unreadable || (len(r.Errors(true)) > 0) != c.fatal || r.Silent() {
				t.Errorf("unreadable: %q, strict: %v, silent: %t", r.Unreadable(), r.Errors(true), r.Silent())
			}
		})
	}
}

// TestVerdicts tells what is left out from what is not honoured and what is only worth knowing, and finds the worst.
func TestVerdicts(t *testing.T) {
	advice := report.Problem{Advice: true}
	warning := report.Problem{Reason: "BackendNotFound"}
	for name, c := range map[string]struct {
		problems []report.Problem
		want     report.Verdict
	}{
		"nothing":           {nil, report.Accepted},
		"advice":            {[]report.Problem{advice}, report.Advice},
		"a warning":         {[]report.Problem{advice, warning}, report.Warning},
		"a refusing reason": {[]report.Problem{{Reason: "NoMatchingParent"}, warning}, report.Refused},
		"left out":          {[]report.Problem{warning, {LeftOut: true}, advice}, report.Refused},
	} {
		if got := report.Worst(c.problems); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	r := &report.Report{}
	r.WarnAt(report.InvalidField, cart, "spec.a", "hm")
	r.ErrorAt(report.InvalidField, cart, "spec.b", "bad")
	r.AdviseAt(report.InvalidField, cart, "spec.b", "note")
	for level, want := range map[report.Verdict]int{report.Advice: 3, report.Warning: 2, report.Refused: 1} {
		if got := r.ErrorsFrom(level); len(got) != want {
			t.Errorf("from %s: got %v, want %d", level, got, want)
		}
	}
}

// TestProblemsComeInOrder sorts by place, says nothing twice, and leaves the report as it is.
func TestProblemsComeInOrder(t *testing.T) {
	r := &report.Report{}
	pay := subject{routeOf("pay"), "a.yaml", nil}
	r.ErrorAt(report.InvalidField, cart, "spec.b", "second")
	r.WarnAt(report.InvalidField, cart, "spec.b", "between")
	r.ErrorAt(report.InvalidField, cart, "spec.a", "first")
	r.ErrorAt(report.InvalidField, cart, "spec.b", "second")
	r.ErrorAt(report.InvalidField, pay, "", "of the file in front")
	r.AdviseAt(report.InvalidField, cart, "spec.a", "for later")
	for range 2 {
		want := "a.yaml: HTTPRoute default/pay: of the file in front\n" +
			"in.yaml:5: HTTPRoute default/cart: spec.a: first\n" +
			"in.yaml:6: HTTPRoute default/cart: spec.b: second"
		if got := r.Errors(false).Error(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		strict := strings.Replace(want, "in.yaml:6:", "in.yaml:6: HTTPRoute default/cart: spec.b: between\nin.yaml:6:", 1)
		if got := r.Errors(true).Error(); got != strict {
			t.Errorf("strict: got\n%s\nwant\n%s", got, strict)
		}
	}
	if got := report.Errors(r.Warnings()).Error(); got != "in.yaml:5: HTTPRoute default/cart: spec.a: for later\nin.yaml:6: HTTPRoute default/cart: spec.b: between" {
		t.Errorf("the warnings are\n%s", got)
	}
}

// TestReportsAreJoined takes in another report and tells what came after a mark.
func TestReportsAreJoined(t *testing.T) {
	r, more := &report.Report{}, &report.Report{}
	if !r.Silent() || len(r.Unreadable()) > 0 || r.Errors(true) != nil || r.Warnings() != nil {
		t.Error("an empty report says something")
	}
	r.ErrorAt(report.InvalidField, cart, "spec.a", "before")
	mark := r.Mark()
	more.ErrorAt(report.InvalidField, cart, "spec.b", "after")
	more.WarnAt(report.InvalidField, cart, "spec.b", "warned")
	r.Add(more)
	if since := r.Since(mark); len(since) != 1 || since[0].Message != "after" {
		t.Errorf("since the mark: %v", since)
	}
	if r.Mark() == mark || len(r.Errors(false)) != 2 || len(r.Warnings()) != 1 {
		t.Errorf("joined: %v, %v", r.Errors(false), r.Warnings())
	}
}

// TestFieldsOfForeignKinds says the path, and finds the line, by the names that the document has.
func TestFieldsOfForeignKinds(t *testing.T) {
	r := &report.Report{}
	r.WarnAt(report.InvalidField, renamed{cart}, "spec.rules[0]", "hm")
	if p := r.Warnings()[0]; p.Path != "spec.routes[0]" || p.Line != 9 {
		t.Errorf("got %+v", p)
	}
}

// TestProblemsArePrintable cuts what is long, and quotes what a terminal would act on.
func TestProblemsArePrintable(t *testing.T) {
	long := strings.Repeat("x", 1000)
	hostile := subject{object.Ref{Kind: object.KindService, Name: "\x1b[2J" + long}, "a\nb.yaml", nil}
	p := report.NewProblem(report.InvalidField, hostile, "spec."+long, "first\nsecond "+long)
	if !strings.HasPrefix(p.Object, `Service \x1b[2Jxxx`) || !strings.HasPrefix(p.Message, `first\nsecond xxx`) || p.File != `a\nb.yaml` {
		t.Errorf("got %+v", p)
	}
	if len(p.Object) > 320 || len(p.Path) > 320 || len(p.Message) > 620 || !strings.HasSuffix(p.Path, "xx...") {
		t.Errorf("%d, %d and %d bytes: %s", len(p.Object), len(p.Path), len(p.Message), p.Path)
	}
	if report.ShownPath("spec."+long) != p.Path {
		t.Error("ShownPath is not the path as it is shown")
	}
	for text, want := range map[string]string{
		"äpfel": "äpfel", "a\tb": `a\tb`, "\u202e": `\u202e`, strings.Repeat("x", 299) + "ä": strings.Repeat("x", 299) + "...", "": "",
	} {
		if got := report.ShownPath(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestDecisionsAreValues shows that what acts on a problem needs no text: whatever a document or a path looks like to people, the object
// and the place are those that it was noted for.
func TestDecisionsAreValues(t *testing.T) {
	long := renamed{subject{object.Ref{Kind: object.KindHTTPRoute, Namespace: "a/b", Name: strings.Repeat("x", 400)}, "in.yaml", nil}}
	r := &report.Report{}
	r.WarnAt(report.InvalidField, long, "spec.rules[3].matches[0]."+strings.Repeat("y", 400), "hm")
	p := r.Warnings()[0]
	if p.Ref != long.ref || !p.Place.IsIn(report.Rules, 3) {
		t.Errorf("got %v, %+v", p.Ref, p.Place)
	}
	if strings.HasSuffix(p.Object, "x") || strings.HasSuffix(p.Path, "y") {
		t.Errorf("%s: %s is not shortened", p.Object, p.Path)
	}
}
