package report

import "fmt"

// maxErrors is how many errors of one object are reported one by one. The others are counted: what has so many was not
// written by hand, and finding the line of each takes time.
const maxErrors = 100

// run counts the errors that are noted of one subject in a row.
type run struct {
	about  string
	errors int
	rest   int // the problem that stands for those that are too many
}

// mayAdd counts an error, and tells whether it is to be reported one by one.
func (r *Report) mayAdd(code Code, about Subject, unsupported bool) bool {
	r.noted++
	if name := about.String(); name != r.run.about {
		r.run = run{about: name}
	}
	r.run.errors++
	switch more := r.run.errors - maxErrors; {
	case more <= 0:
		return true
	case more == 1:
		r.run.rest = len(r.errors)
		rest := newEntry(code, about, "", "and 1 more error")
		rest.leftOut, rest.unsupported = true, unsupported
		r.errors = append(r.errors, rest)
	default:
		rest := &r.errors[r.run.rest]
		rest.message, rest.unsupported = fmt.Sprintf("and %d more errors", more), rest.unsupported && unsupported
	}
	return false
}
