package policyconfig

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is one fault of a document: where it is, and what is wrong in the wording of Kubernetes.
// It never holds a secret, nor any other text that stands below a configuration's keys.
type Error struct {
	// Path leads to the fault, such as policies[2].cookie.sameSite. Empty for the document as a whole.
	Path string
	// Message says what is wrong, on one line.
	Message string
}

// Error gives the path and the message on one line.
func (e Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// ErrorList is every fault of a document in the order found. Past the hundredth they are only counted, and the
// last entry says how many there were.
type ErrorList []Error

// Error gives one line for each fault.
func (l ErrorList) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is the list as an error, nil when it is empty.
func (l ErrorList) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

const (
	maxErrors = 100 // faults kept; a broken generator can make millions of them
	maxQuoted = 80  // bytes of a value or made-up name that a message repeats
)

// report collects faults.
type report struct {
	errs ErrorList
	more int
	// hidden keeps the document's own text out of messages: set below a configuration's keys, where any
	// string, even a misspelt field name, may be a secret that was put in the wrong place.
	hidden bool
}

// note keeps a fault, or counts it.
func (r *report) note(at *jsonPath, message string) {
	if len(r.errs) >= maxErrors {
		r.more++
		return
	}
	r.errs = append(r.errs, Error{at.String(), message})
}

// add notes a fault unless there is one at the same path, from which this one most likely follows.
func (r *report) add(at *jsonPath, message string) {
	where := at.String()
	for _, e := range r.errs {
		if e.Path == where {
			return
		}
	}
	r.note(at, message)
}

// list is what was collected, with the number of the faults that were only counted.
func (r *report) list() ErrorList {
	if r.more > 0 {
		return append(r.errs, Error{Message: "and " + strconv.Itoa(r.more) + " more errors"})
	}
	return r.errs
}

// faulty reports whether a fault was found at the path or below it.
func (r *report) faulty(at *jsonPath) bool {
	where := at.String()
	for _, e := range r.errs {
		if rest, ok := strings.CutPrefix(e.Path, where); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

func (r *report) required(at *jsonPath, why string) {
	if why != "" {
		why = ": " + why
	}
	r.add(at, "Required value"+why)
}

// invalid notes a value that breaks a rule; shown is how the message repeats it.
func (r *report) invalid(at *jsonPath, shown, must string) {
	if r.hidden {
		shown = redacted
	}
	r.add(at, "Invalid value: "+shown+": "+must)
}

func (r *report) unsupported(at *jsonPath, value, supported string) {
	r.add(at, "Unsupported value: "+quote(value)+": supported values: "+supported)
}

func (r *report) forbidden(at *jsonPath, why string) { r.add(at, "Forbidden: "+why) }

func (r *report) duplicate(at *jsonPath, value, why string) {
	shown := quote(value)
	if r.hidden {
		shown = redacted
	}
	r.add(at, "Duplicate value: "+shown+": "+why)
}

// quote makes a value safe to print: control and invisible characters escaped, long ones cut.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	cut := maxQuoted
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "..."
}

// choices lists names as messages do: "Strict", "Lax", "None".
func choices[S ~string](names []S) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(string(n)))
	}
	return b.String()
}
