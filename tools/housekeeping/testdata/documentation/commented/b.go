// Package commented has its comment in one file of two.
package commented
