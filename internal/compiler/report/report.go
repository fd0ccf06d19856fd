package report

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// Subject is what problems are about: an object of the input, or a file.
type Subject interface {
	// Ref is the object; nothing for a file.
	Ref() object.Ref
	// String names the object as "HTTPRoute default/cart"; empty for a file.
	String() string
	// Locate gives the file and line of a field, or of the nearest one that encloses it; line 0 is unknown.
	Locate(path string) (file string, line int)
}

// Report collects problems. The zero value is ready to use; it is not safe for concurrent use. Where in its file a
// problem is, is looked up when the problems are asked for: documents may move, while what is said of them stays.
type Report struct {
	errors, warnings []Entry
	unreadable       []string // files
	noted            int      // errors, be they reported one by one or counted
	run              run
}

// Entry is a problem whose place in a file is not looked up yet.
type Entry struct {
	code            Code
	about           Subject
	object          string // the name that it had, as it is shown
	path            string // in the document's words
	place           Place
	message, reason string
	advice, leftOut bool
	unsupported     bool // though an API server would admit it
}

// Error notes field errors: the document would not be admitted, and is left out.
func (r *Report) Error(code Code, about Subject, errs ...*field.Error) {
	for _, e := range errs {
		r.add(code, about, "", e.Field, e.ErrorBody(), support.IsLacking(e))
	}
}

// UnsupportedAt is ErrorAt for what an API server would admit.
func (r *Report) UnsupportedAt(code Code, about Subject, path, message string) {
	r.add(code, about, "", path, message, true)
}

// ErrorAt notes an error at a path, which may be empty, in words of its own: what it is about is left out.
func (r *Report) ErrorAt(code Code, about Subject, path, message string) {
	r.ErrorForAt(code, about, "", path, message)
}

// ErrorForAt is ErrorAt for what the object's status says too, under the reason of a condition.
func (r *Report) ErrorForAt(code Code, about Subject, reason, path, message string) {
	r.add(code, about, reason, path, message, false)
}

// add notes an error.
func (r *Report) add(code Code, about Subject, reason, path, message string, unsupported bool) {
	if !r.mayAdd(code, about, unsupported) {
		return
	}
	e := newEntry(code, about, path, message)
	e.leftOut, e.unsupported, e.reason = true, unsupported, reason
	r.errors = append(r.errors, e)
}

// UnreadableAt is ErrorAt for what leaves it open which objects a file has: none of them counts.
func (r *Report) UnreadableAt(code Code, about Subject, path, message string) {
	file, _ := about.Locate(path)
	r.unreadable = append(r.unreadable, file)
	r.ErrorAt(code, about, path, message)
}

// Unreadable are the names of the files none of whose objects counts, some of them more than once.
func (r *Report) Unreadable() []string { return r.unreadable }

// Warn notes something admitted that can't be honoured; what then happens stands in the error's detail.
func (r *Report) Warn(code Code, about Subject, e *field.Error) {
	r.warnings = append(r.warnings, newEntry(code, about, e.Field, e.ErrorBody()))
}

// WarnAt is Warn in words of its own.
func (r *Report) WarnAt(code Code, about Subject, path, message string) {
	r.warnings = append(r.warnings, newEntry(code, about, path, message))
}

// NotSupportedBy warns that a target can't do what is asked for, and why. What begins so says all that is lost.
func (r *Report) NotSupportedBy(code Code, about Subject, target, path, why string) {
	r.WarnAt(code, about, path, "not supported by "+target+": "+why)
}

// WarnFor is Warn for what the object's status says too, under the reason of a condition.
func (r *Report) WarnFor(code Code, about Subject, reason string, e *field.Error) {
	r.WarnForAt(code, about, reason, e.Field, e.ErrorBody())
}

// WarnForAt is WarnFor in words of its own.
func (r *Report) WarnForAt(code Code, about Subject, reason, path, message string) {
	e := newEntry(code, about, path, message)
	e.reason = reason
	r.warnings = append(r.warnings, e)
}

// Advise notes something that is worth knowing and has no effect on requests.
func (r *Report) Advise(code Code, about Subject, path *field.Path, message string) {
	r.AdviseAt(code, about, path.String(), message)
}

// AdviseAt is Advise with the path as text.
func (r *Report) AdviseAt(code Code, about Subject, path, message string) {
	e := newEntry(code, about, path, message)
	e.advice = true
	r.warnings = append(r.warnings, e)
}

// AdviseFor is AdviseAt for what the object's status says too, under a reason.
func (r *Report) AdviseFor(code Code, about Subject, reason, path, message string) {
	r.AdviseAt(code, about, path, message)
	r.warnings[len(r.warnings)-1].reason = reason
}

// Add takes in what another report has collected.
func (r *Report) Add(more *Report) {
	r.errors, r.noted, r.run = append(r.errors, more.errors...), r.noted+more.noted, run{}
	r.warnings = append(r.warnings, more.warnings...)
	r.unreadable = append(r.unreadable, more.unreadable...)
}

// AddAbout is Add for what there is to say of some objects.
func (r *Report) AddAbout(some map[object.Ref]bool, more *Report) {
	r.errors = appendAbout(r.errors, some, more.errors)
	r.warnings = appendAbout(r.warnings, some, more.warnings)
}

func appendAbout(to []Entry, some map[object.Ref]bool, more []Entry) []Entry {
	for _, e := range more {
		if some[e.Ref()] {
			to = append(to, e)
		}
	}
	return to
}

// AddErrors takes in the errors that another report has collected.
func (r *Report) AddErrors(more *Report) {
	r.Add(&Report{errors: more.errors, noted: more.noted, unreadable: more.unreadable})
}

// Mark is a point in the collection of errors; it changes with every new one.
func (r *Report) Mark() int { return r.noted }

// Since gives the errors noted after a mark, but for those that are counted alone.
func (r *Report) Since(mark int) []Problem { return locateAll(r.errors[min(mark, len(r.errors)):]) }

// ShownPath is a path as problems show it, for comparison with theirs.
func ShownPath(path string) string { return makePrintable(path, maxPlace) }

// Silent reports whether there is nothing at all.
func (r *Report) Silent() bool { return len(r.errors)+len(r.warnings) == 0 }

// Errors gives every error in order, and with strict also the warnings that are more than advice.
// It is nil when there is none.
func (r *Report) Errors(strict bool) Errors {
	all := slices.Clone(r.errors)
	for _, w := range r.warnings {
		if strict && !w.advice {
			all = append(all, w)
		}
	}
	return Errors(sortProblems(locateAll(all)))
}

// ErrorsFrom gives every problem with a verdict as bad as one, or worse, in order; nil when there is none.
func (r *Report) ErrorsFrom(least Verdict) Errors {
	return slices.DeleteFunc(r.Problems(), func(p Problem) bool { return !p.Verdict().AtLeast(least) })
}

// Problems gives all there is to say, errors and warnings, in order.
func (r *Report) Problems() []Problem {
	return sortProblems(locateAll(slices.Concat(r.errors, r.warnings)))
}

// Warnings gives every warning in order.
func (r *Report) Warnings() []Problem { return sortProblems(locateAll(r.warnings)) }

// NewProblem makes a problem that no report collects.
func NewProblem(code Code, about Subject, path, message string) Problem {
	return newEntry(code, about, path, message).Locate()
}

func newEntry(code Code, about Subject, path, message string) Entry {
	if own, ok := about.(interface{ Path(string) string }); ok {
		path = own.Path(path)
	}
	return Entry{
		code: code, about: about, object: makePrintable(about.String(), maxPlace), path: path, place: PlaceOf(path),
		message: makePrintable(message, maxMessage),
	}
}

// Ref is what the problem is about; nothing for a file.
func (e Entry) Ref() object.Ref { return e.about.Ref() }

// IsOfStatus tells whether the status of what the problem is about depends on it.
func (e Entry) IsOfStatus() bool { return !e.advice || e.reason != "" }

// Locate gives the problem with its place in a file.
func (e Entry) Locate() Problem {
	file, line := e.about.Locate(e.path)
	return Problem{
		Code: e.code, Ref: e.about.Ref(), Place: e.place, Object: e.object, Path: ShownPath(e.path), Message: e.message,
		File: makePrintable(file, maxPlace), Line: line, Reason: e.reason, Advice: e.advice, LeftOut: e.leftOut,
		Unsupported: e.unsupported,
	}
}

// locateAll gives problems with their places in files; nil for none.
func locateAll(entries []Entry) []Problem {
	if entries == nil {
		return nil
	}
	problems := make([]Problem, len(entries))
	for i, e := range entries {
		problems[i] = e.Locate()
	}
	return problems
}

// sortProblems sorts problems and drops those that say the same twice.
func sortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, compareProblems)
	return slices.Compact(problems)
}

// The most bytes of an object's name or a path, and of a message, that are shown.
const (
	maxPlace   = 300
	maxMessage = 600
)

// makePrintable makes text from the input safe for a terminal and a log: one line, nothing invisible, and not endless.
func makePrintable(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	for _, r := range s {
		if (r < ' ' || r > '~') && !strconv.IsPrint(r) {
			return strings.Trim(strconv.Quote(s), `"`)
		}
	}
	return s
}

// Statement is what a problem says, wherever in a file that is.
type Statement struct{ Object, Path, Message string }

// VisitProblems visits all there is to say.
func (r *Report) VisitProblems(visit func(Statement, Entry)) {
	for _, entries := range [][]Entry{r.errors, r.warnings} {
		for _, e := range entries {
			visit(Statement{e.object, ShownPath(e.path), e.message}, e)
		}
	}
}

// SortEntries gives problems with their places, in order.
func SortEntries(entries []Entry) []Problem { return sortProblems(locateAll(entries)) }
