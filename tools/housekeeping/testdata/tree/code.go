// Package tree shows which files are read.
package tree

// Answer is exported and documented.
func Answer() int { return small() }

func small() int { return 42 }
