package session

import (
	"testing"
)

// counting counts how often every line of a header map was asked for.
type counting struct {
	lines
	all int
}

func (c *counting) All() [][2]string {
	c.all++
	return c.lines.All()
}

// Reading every line costs the proxy ten times as much as reading one, so a session on its steady path must not.
func TestPinnedRequestReadsOneLine(t *testing.T) {
	e := engine(t, 1)
	var x Exchange
	for want, cookie := range []string{issued(t, e), "other=1"} {
		h := &counting{lines: lines{kv: [][2]string{{":method", "GET"}, {"cookie", cookie}}}}
		x.Request(policyOf(e), h, now)
		if x.pinned != (want == 0) || h.all != want {
			t.Errorf("%.10s: pinned %v, all lines read %d times, want %d", cookie, x.pinned, h.all, want)
		}
	}
}
