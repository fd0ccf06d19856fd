// Package kubernetes follows the objects of an API server that the compiler reads, and writes back what became of them.
package kubernetes
