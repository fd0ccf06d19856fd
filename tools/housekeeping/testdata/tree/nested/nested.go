// Package nested is a module of its own.
package nested
