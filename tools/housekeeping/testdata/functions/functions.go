// Package functions has functions whose lines and branches are counted.
package functions

import "iter"

func oneLine() {}

func noBody()

// The comment of a function is none of its lines.
func straight(
	a, b int,
) int {
	// A comment within is.
	return a + b
}

func branches(values []int, ok bool) int {
	for _, v := range values {
		if ok && v > 0 || v < -1 {
			return v
		}
	}
	for ok {
		ok = false
	}
	return 0
}

func cases(v any, c chan int) {
	switch v {
	case 1, 2:
	case 3:
	default:
	}
	switch v.(type) {
	case int:
	}
	select {
	case <-c:
	default:
	}
}

type generic[K, V any] struct{}

func (*generic[K, V]) literal() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !yield(1) {
			return
		}
	}
}

type plain struct{}

func (plain) method() {}
