package main

import "fmt"

// finding is a line and what is to be said of it.
type finding struct {
	path   string
	line   int
	isTest bool // it goes away if tests change
	text   string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.text) }

// report makes a finding of a line of the file.
func (f *goFile) report(line int, format string, values ...any) finding {
	return finding{f.path, line, f.isTest, fmt.Sprintf(format, values...)}
}

// side is 0 for code and 1 for tests.
func (f finding) side() int {
	if f.isTest {
		return 1
	}
	return 0
}
