package wasmtest

import "testing"

func TestMetrics(t *testing.T) {
	var m metrics
	c, again, g, h := m.define(counter, "c"), m.define(counter, "c"), m.define(gauge, "g"), m.define(histogram, "h")
	for i, step := range []struct {
		got, want status
	}{
		{m.increment(c, 2), statusOK},
		{m.increment(again, 3), statusOK},
		{m.increment(c, 0), statusBadArgument},
		{m.increment(c, -1), statusBadArgument},
		{m.record(c, 10), statusOK},
		{m.increment(g, 5), statusOK},
		{m.increment(g, -7), statusOK},
		{m.increment(h, 1), statusBadArgument},
		{m.record(h, 1), statusOK},
		{m.increment(0, 1), statusNotFound},
		{m.increment(again+4, 1), statusNotFound},
		{m.record(g+4, 1), statusNotFound},
		{m.record(3, 1), statusNotFound},
	} {
		if step.got != step.want {
			t.Errorf("step %d: got status %d, want %d", i, step.got, step.want)
		}
	}
	if v, s := m.get(c); v != 15 || s != statusOK {
		t.Errorf("counter: %d, status %d", v, s)
	}
	if v, s := m.get(g); int64(v) != -2 || s != statusOK {
		t.Errorf("gauge: %d, status %d", int64(v), s)
	}
	if _, s := m.get(h); s != statusBadArgument {
		t.Errorf("a histogram has no value: status %d", s)
	}
	if _, s := m.get(g + 4); s != statusNotFound {
		t.Errorf("an id that was not given out: status %d", s)
	}
	if c == again || c&3 != uint32(counter) || g&3 != uint32(gauge) || h&3 != uint32(histogram) {
		t.Errorf("ids %d %d %d %d", c, again, g, h)
	}
}
