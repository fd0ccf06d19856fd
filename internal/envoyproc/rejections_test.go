package envoyproc

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// TestRejections writes a log in pieces, and wants the last reason in it, and the log as it is.
func TestRejections(t *testing.T) {
	const before = "[2026-01-01][1][warning] gRPC config: "
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"nothing said", []string{"[info] all is well\n"}, ""},
		{"rejected", []string{before + rejectedWords + "no such cluster \n"}, "no such cluster"},
		{"unreadable", []string{before + unreadableWords + "not JSON\n"}, "not JSON"},
		{"the last", []string{before + rejectedWords + "first\n" + before + rejectedWords + "second\n"}, "second"},
		{
			"in pieces",
			[]string{"[info] a\n" + before + rejectedWords[:10], rejectedWords[10:] + "in two", " pieces\n[info]"},
			"in two pieces",
		},
		{"a line that is not whole", []string{before + rejectedWords + "half"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			r := NewRejections(&log)
			begin := time.Now()
			var all string
			for _, p := range c.pieces {
				all += p
				if n, err := r.Write([]byte(p)); n != len(p) || err != nil {
					t.Fatalf("wrote %d of %d bytes, %v", n, len(p), err)
				}
			}
			if log.String() != all {
				t.Errorf("passed on %q, want %q", log.String(), all)
			}
			if got := r.Since(begin.Add(-time.Nanosecond)); got != c.want {
				t.Errorf("reason %q, want %q", got, c.want)
			}
		})
	}
}

// TestSince leaves out what was said before, and waits for what comes a little later.
func TestSince(t *testing.T) {
	r := NewRejections(io.Discard)
	say := func(reason string) { _, _ = r.Write([]byte(rejectedWords + reason + "\n")) }
	say("before")
	begin := time.Now()
	if got := r.Since(begin); got != "" {
		t.Errorf("got %q, which was said before", got)
	}
	go func() {
		time.Sleep(logTime / 10)
		say("after")
	}()
	if got := r.Since(begin); got != "after" {
		t.Errorf("got %q", got)
	}
}
