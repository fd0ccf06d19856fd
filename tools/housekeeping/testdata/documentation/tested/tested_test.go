// Package tested has tests only.
package tested
