package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
)

// sample is what one change took: until it was live, what a client of another route waited at most meanwhile, and the processor
// time of each.
type sample struct{ live, wait, mainThread, workers, limpet time.Duration }

// settled is how long after a change all that it causes has been done.
const settled = 500 * time.Millisecond

// measure changes the policy of a route and waits until a new client gets its cookie.
func (c *contestant) measure(n, route int) error {
	file, err := c.edit(n, route)
	if err != nil {
		return err
	}
	time.Sleep(settled)
	steady := c.startSteadyClient()
	before, begin := c.usage(), time.Now()
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	live, err := c.awaitCookie(route, fmt.Sprintf("cart%d", n), begin)
	if err != nil {
		return err
	}
	time.Sleep(settled)
	after := c.usage()
	wait, err := steady()
	c.samples = append(c.samples, sample{
		live: live, wait: wait, mainThread: after.mainThread - before.mainThread, workers: after.workers - before.workers,
		limpet: after.limpet - before.limpet,
	})
	return err
}

// awaitCookie tells how long it took until new clients of a route get a cookie of some name.
func (c *contestant) awaitCookie(route int, name string, begin time.Time) (time.Duration, error) {
	for time.Since(begin) < readyWithin {
		got, err := c.ask(route)
		if err != nil {
			return 0, err
		}
		if got == name {
			return time.Since(begin), nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return 0, fmt.Errorf("%s: the session %s of route %d does not come", c.name, name, route)
}

// startSteadyClient asks for the first route, which does not change, again and again, until it is asked how long one of its
// requests took at most.
func (c *contestant) startSteadyClient() (end func() (time.Duration, error)) {
	var longest time.Duration
	var err error
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for ended := false; !ended; {
			asked := time.Now()
			if _, failed := c.ask(0); failed != nil {
				err = failed
			}
			longest = max(longest, time.Since(asked))
			select {
			case <-stop:
				ended = true
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() (time.Duration, error) {
		close(stop)
		<-done
		return longest, err
	}
}

// edit writes a file with another name for the session of a route, to be moved into place.
func (c *contestant) edit(n, route int) (file string, err error) {
	file, err = c.findFile(route)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	head, policy, found := strings.Cut(string(text), kindOf(route))
	between, rest, named := strings.Cut(policy, "  sessionName: ")
	if !found || !named {
		return "", fmt.Errorf("%s has no policy of route %d", file, route)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	text = fmt.Appendf(nil, "%s%s%s  sessionName: cart%d\n%s", head, kindOf(route), between, n, rest)
	return file, os.WriteFile(file+".new", text, 0o600)
}

// kindOf is how the policy of a route begins.
func kindOf(route int) string {
	return fmt.Sprintf("kind: SessionPersistencePolicy\nmetadata:\n  name: app-%d\n", route)
}

// findFile finds the file with the policy of a route.
func (c *contestant) findFile(route int) (string, error) {
	files, err := filepath.Glob(filepath.Join(c.folder, "*.yaml"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if strings.Contains(string(text), kindOf(route)) {
			return file, nil
		}
	}
	return "", fmt.Errorf("no file has the policy of route %d: %w", route, err)
}

// usage is the processor time that was used so far.
func (c *contestant) usage() (s sample) {
	s.mainThread = threadTime(fmt.Sprintf("/proc/%d/task/%[1]d", c.envoy))
	s.workers = processTime(c.envoy) - s.mainThread
	s.limpet = processTime(c.command.Process.Pid)
	return s
}

func processTime(pid int) (total time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is sound
	for _, thread := range threads {
		total += threadTime(thread)
	}
	return total
}

// threadTime is 0 for a thread that has ended.
func threadTime(thread string) time.Duration {
	used, _ := rig.ReadCPU(thread)
	return used
}

// row is a line of the table.
func (c *contestant) row() string {
	cells := []string{c.name}
	for _, get := range []func(sample) time.Duration{
		func(s sample) time.Duration { return s.live }, func(s sample) time.Duration { return s.wait },
		func(s sample) time.Duration { return s.mainThread }, func(s sample) time.Duration { return s.workers },
		func(s sample) time.Duration { return s.limpet },
	} {
		var values []float64
		for _, s := range c.samples {
			values = append(values, float64(get(s).Microseconds())/1000)
		}
		slices.Sort(values)
		cells = append(cells, fmt.Sprintf("%.0f (%.0f, %.0f)", values[len(values)/2], values[0], values[len(values)-1]))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}
