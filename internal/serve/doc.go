// Package serve is what "limpet serve" does besides reading and compiling: it gives what the compiler makes to an xDS
// server, says what became of it, and knows Envoys by their certificates.
package serve
