// Package once has functions by how often they are used.
package once

import "slices"

// Exported uses the others.
func Exported() {
	once()
	twice()
	twice()
	long()
	tested()
	generic(1)
	generic("")
	genericOnce[int](1)
	a{}.same()
	b{}.same()
	b{}.same()
	for _, x := range slices.Collect(slices.Values([]a{})) {
		x.hidden()
		x.hiddenTwice()
	}
	a{}.hiddenTwice()
	_, _ = system, imported
	box[int]{}.inBox()
	ExportedOnce()
}

// ExportedOnce is used once here, and elsewhere perhaps.
func ExportedOnce() {}

func once() {}

func twice() {}

func long() {
	_ = 1
	_ = 2
	_ = 3
	_ = 4
	_ = 5
	_ = 6
	_ = 7
}

func eight() {
	_ = 1
	_ = 2
	_ = 3
	_ = 4
	_ = 5
	_ = eight
}

func tested() {}

func onlyTested() {}

func unused() {}

func generic[T any](T) {}

func genericOnce[T any](T) {}

type a struct{}

func (a) same() {}

func (a) hidden() {}

func (a) hiddenTwice() {}

type b struct{}

func (b) same() {}

type box[T any] struct{}

func (box[T]) inBox() {}

func imported()
