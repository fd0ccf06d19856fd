// Package callers bounds what connections cost before anybody knows whose they are, and what one may say at a time
// afterwards.
//
// A [Gate] has all connections of a listener. Those whose caller is not known are few, for a short time, and hold few
// bytes: where there come to be more, the oldest go. A [Caller] that is known is never ended for others' sake. It has a
// message at a time, of a size that whoever knows it sets.
package callers
