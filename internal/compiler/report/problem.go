// Package report collects what the compiler has to say about its input: errors, for documents that no API
// server would admit or that limpet does not support yet, and warnings, for what it can't honour.
// The wording is that of k8s.io/apimachinery's field errors, which users know.
package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Problem is one thing that is wrong, where it is, and in which object. What is done about it follows from Ref, Place
// and Reason; the rest is for people.
type Problem struct {
	// Code says what kind of finding it is.
	Code Code
	// Ref is the object; nothing where a file as a whole is meant.
	Ref object.Ref
	// Place is where in the object it is.
	Place Place
	// Object names the object as "HTTPRoute default/cart"; empty where a file as a whole is meant.
	Object string
	// Path leads to the field, such as spec.rules[0].backendRefs[1].port; empty for the object as a whole.
	Path string
	// Message says what is wrong, on one line.
	Message string
	// File is the file's name as the user wrote it.
	File string
	// Line counts from 1; 0 where no line is known.
	Line int
	// Reason is that of the status condition which says so, one of Gateway API's or GEP-713's own, such as
	// BackendNotFound; empty where no condition speaks of it.
	Reason string
	// Advice marks a warning without an effect on requests; a strict compilation lets it pass.
	Advice bool
	// LeftOut says that the object, or the part of it that Path leads to, is left out of what is compiled.
	LeftOut bool
	// Unsupported says that it is left out though an API server would admit it.
	Unsupported bool
}

// String gives the problem on one line: `cart.yaml:12: HTTPRoute default/cart: spec.rules[0].name: Required value`.
func (p Problem) String() string {
	place := p.File
	if place != "" && p.Line > 0 {
		place += ":" + strconv.Itoa(p.Line)
	}
	parts := slices.DeleteFunc([]string{place, p.Object, p.Path, p.Message}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// compareProblems orders problems as a reader meets them: by file and line, then by object and path.
func compareProblems(a, b Problem) int {
	if place := cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)); place != 0 {
		return place
	}
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
}

// Errors is the error of a compilation that wrote nothing: every problem that was found, in order.
type Errors []Problem

// Error gives one line for each problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
