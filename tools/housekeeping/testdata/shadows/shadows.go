// Package shadows has locals with package-level names, and names that are no locals.
package shadows

import (
	"example.invalid/missing"
)

func text() string { return "" }

var value, other int

const limit = 1

type kind struct{}

// Ranked is a type with a method that is called as some locals are.
type Ranked struct {
	text string
	rank int
}

func (r Ranked) rank2() int { rank2 := r.rank; return rank2 }

func (value Ranked) receiver() {}

func parameter(text string, _ int) {}

func result() (value int, err error) { return }

func declared() {
	var value int
	const limit = 2
	text, fresh := "", 0
	_, _, _ = value, text, fresh
	{
		value := limit
		_ = value
	}
}

func assigned() {
	value = 1
	for value = range 3 {
	}
}

func ranged(values []int) {
	for value, other := range values {
		_, _ = value, other
	}
}

func switched(v any) {
	switch kind := v.(type) {
	case int:
		_ = kind
	case string:
		_ = kind
	}
}

func imported() {
	for _, text := range missing.Texts(func(kind int) {}) {
		value := text
		_ = value
	}
}

func labelled() {
value:
	for {
		break value
	}
}

var literal = func(limit int) int { return limit }

// Signatures without a body declare no locals, nor do fields.
type Signatures interface {
	Method(text string) (value int)
}

var signature func(text string)

var fields = struct{ text, value string }{text: "", value: ""}

func system() { plan := 1; _ = plan }

func helped() { helper := 1; _ = helper }
