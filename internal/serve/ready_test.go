package serve

import "testing"

// TestPortsBeforeACompilation: where a Gateway listens is not known before the first compilation, and no Service is made of guesses.
func TestPortsBeforeACompilation(t *testing.T) {
	o, keys := newOutput(t)
	if _, known := o.Ports("default/one"); known {
		t.Error("ports are known before anything is compiled")
	}
	apply(t, o, keys, withCertificate(t, documents))
	if ports, known := o.Ports("default/one"); !known || len(ports) == 0 {
		t.Errorf("ports are %v, known=%t", ports, known)
	}
	if ports, known := o.Ports("default/other"); !known || len(ports) > 0 {
		t.Errorf("ports of a Gateway that there is not are %v, known=%t", ports, known)
	}
}
