package callers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// scene is a gate, and both sides of connections that pass it.
type scene struct {
	t      *testing.T
	gate   *Gate
	lock   sync.Mutex
	ended  []string
	number int // of those that are not known
	begun  int
}

func newScene(t *testing.T, most int, within time.Duration) *scene {
	s := &scene{t: t}
	s.gate = &Gate{Most: most, Within: within, Count: func(more int) { s.number += more }}
	s.gate.Ended = func(at string, why error) {
		s.lock.Lock()
		defer s.lock.Unlock()
		reason := "late"
		if errors.Is(why, ErrMany) {
			reason = "many"
		}
		s.ended = append(s.ended, at+" "+reason)
	}
	return s
}

// named is a connection whose other side is called something.
type named struct {
	net.Conn

	name string
}

func (n named) RemoteAddr() net.Addr { return n }
func (n named) Network() string      { return "test" }
func (n named) String() string       { return n.name }

// connect makes a connection; the other side is the caller's.
func (s *scene) connect() (here *Caller, there net.Conn) {
	one, other := net.Pipe()
	s.begun++
	here = newCaller(named{one, fmt.Sprint(s.begun)}, s.gate)
	s.gate.add(here)
	s.t.Cleanup(func() { _ = here.Close() })
	return here, other
}

// TestOldestGo: where there are too many that are not known, the oldest of those goes, and none that is known.
func TestOldestGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, 3, time.Minute)
		var all []*Caller
		for i := range 6 {
			c, _ := s.connect()
			if all = append(all, c); i < 2 {
				c.Expect("shop", 1000)
				c.Identified()
			}
		}
		all[0].Forget() // and is the youngest of those that are not known
		if want := []string{"3 many", "4 many"}; !slices.Equal(s.ended, want) {
			t.Errorf("%v are ended, want %v", s.ended, want)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []string{"1 late", "3 many", "4 many", "5 late", "6 late"}; !slices.Equal(slices.Sorted(slices.Values(s.ended)), want) || s.number != 0 {
			t.Errorf("%v are ended, and %d more are not known; want %v and none", s.ended, s.number, want)
		}
	})
}

// TestBytes: of who is not known few bytes are read, and of who is known a message of the size that it may have. Whoever sends more is
// told, and no more is read.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, 3, time.Hour)
		here, there := s.connect()
		read := 0
		go func() {
			for buffer := make([]byte, 5000); ; {
				n, err := here.Read(buffer)
				if read += n; err != nil {
					return
				}
			}
		}()
		go func() { _, _ = io.Copy(there, zeros{}) }()
		for _, step := range []struct {
			name string
			do   func()
			want int
			over bool
		}{
			{"not known", func() {}, unknownBytes, false},
			{"known", func() { here.Expect("shop", 40_000) }, 40_000, true},
		} {
			step.do()
			synctest.Wait()
			if read != step.want || isClosed(here.Over()) != step.over {
				t.Errorf("%s: %d bytes are read, want %d; over: %v", step.name, read, step.want, isClosed(here.Over()))
			}
		}
		here.Forget()
		if synctest.Wait(); read != 40_000 {
			t.Errorf("%d bytes are read of who has sent too much", read)
		}
		_ = there.Close()
	})
}

type zeros struct{}

func (zeros) Read(to []byte) (int, error) { return len(to), nil }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestTurns: of large messages of a namespace as many are read at a time as may be, another's are read meanwhile, and who does not come to
// an end of it is told.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, 10, time.Hour)
		read := map[string]*int{}
		callers := map[string]*Caller{}
		for _, name := range []string{"shop/a", "shop/b", "shop/c", "bank/a"} {
			here, there := s.connect()
			here.Expect(name[:4], 1<<20)
			read[name], callers[name] = new(int), here
			go func() {
				for buffer := make([]byte, 5000); ; {
					n, err := here.Read(buffer)
					if *read[name] += n; err != nil {
						return
					}
				}
			}()
			go func() { _, _ = there.Write(make([]byte, 100_000)) }()
			synctest.Wait()
		}
		want := map[string]int{"shop/a": 100_000, "shop/b": 100_000, "shop/c": smallMessage, "bank/a": 100_000}
		check := func(when string) {
			synctest.Wait()
			for name, number := range read {
				if got := *number; got < want[name] || got > want[name]+5000 {
					t.Errorf("%s: %d bytes of %s are read, want %d", when, got, name, want[name])
				}
			}
		}
		check("at first")
		callers["shop/a"].Take(1 << 20)
		want["shop/c"] = 100_000
		check("when one has ended")
		time.Sleep(2 * turnFor)
		synctest.Wait()
		for name, c := range callers {
			if over := isClosed(c.Over()); over != (name != "shop/a") {
				t.Errorf("%s is told that it takes too long: %v", name, over)
			}
		}
	})
}

// TestQuietForLong: what a connection says besides messages comes to nothing, however long that is.
func TestQuietForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, 3, time.Hour)
		here, there := s.connect()
		here.Expect("shop", smallMessage)
		here.Identified()
		go func() { _, _ = io.Copy(io.Discard, here) }()
		for range 10_000 { // pings of four days
			_, _ = there.Write(make([]byte, 39))
			time.Sleep(30 * time.Second)
		}
		if isClosed(here.Over()) {
			t.Error("it is cut off")
		}
		_ = there.Close()
	})
}
