package harness

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Clients are clients, each with a session, that send requests while the deployment changes.
type Clients struct {
	// Every is the time from the beginning of one request of a client to that of its next. Default: at once.
	Every time.Duration

	all      []*sessionClient
	progress *Progress
}

// sessionClient is one of Clients.
type sessionClient struct {
	send func() (Response, error)
	home string // the backend that answered last
}

// Tally is what became of the requests of Clients.
type Tally struct {
	// Requests are all that were sent. Errors are those without an answer of a backend with status 200, by what
	// came instead.
	Requests int
	Errors   map[string]int
	// Moves are changes of a session's backend, by the backend that it left and the one that it went to.
	Moves map[Move]int
}

// Move is a session's way from one backend to another.
type Move struct{ From, To string }

// NewClients begins a session for each of count clients: send makes the function that sends a request of client i.
func NewClients(t testing.TB, count int, send func(i int) func() (Response, error)) *Clients {
	t.Helper()
	c := &Clients{progress: NewProgress(t)}
	for i := range count {
		client := &sessionClient{send: send(i)}
		first, err := client.send()
		if err != nil || first.Status != http.StatusOK || first.Backend == "" {
			t.Fatalf("session %d does not begin: %v, status %d from %q", i, err, first.Status, first.Backend)
		}
		client.home = first.Backend
		c.all = append(c.all, client)
	}
	return c
}

// Getter makes the function that NewClients wants: it gets path with client, which has a jar of its own.
func Getter(client *Client, path string, headers ...string) func() (Response, error) {
	return func() (Response, error) { return client.Try(http.MethodGet, path, headers...) }
}

// Size is how many sessions there are.
func (c *Clients) Size() int { return len(c.all) }

// Homes is how many sessions each backend has.
func (c *Clients) Homes() map[string]int {
	homes := map[string]int{}
	for _, client := range c.all {
		homes[client.home]++
	}
	return homes
}

// During keeps every client busy while work runs, and for one more request each.
func (c *Clients) During(work func()) Tally {
	ctx, stop := context.WithCancel(context.Background())
	all := Tally{Errors: map[string]int{}, Moves: map[Move]int{}}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, client := range c.all {
		group.Go(func() {
			own := client.run(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			all.Add(own)
		})
	}
	work()
	stop()
	group.Wait()
	return all
}

// run sends requests until the context ends, and a last one afterwards.
func (s *sessionClient) run(ctx context.Context, c *Clients) Tally {
	tally := Tally{Errors: map[string]int{}, Moves: map[Move]int{}}
	for last := false; !last; {
		last = ctx.Err() != nil
		begin := time.Now()
		response, err := s.send()
		tally.Requests++
		switch {
		case err != nil:
			tally.Errors["no answer"]++
		case response.Status != http.StatusOK || response.Backend == "":
			tally.Errors[fmt.Sprintf("status %d", response.Status)]++
		case response.Backend != s.home:
			tally.Moves[Move{s.home, response.Backend}]++
			s.home = response.Backend
		}
		c.progress.Say(
			"%d clients at work; one of them has sent %d requests, with %d errors",
			len(c.all),
			tally.Requests,
			tally.Failed(),
		)
		pause(ctx, c.Every-time.Since(begin), err)
	}
	return tally
}

// pause waits for a client's next turn; one that got no answer waits a little in any case, as there may be no proxy.
func pause(ctx context.Context, wait time.Duration, err error) {
	if err != nil {
		wait = max(wait, 100*time.Millisecond)
	}
	if wait <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// Add puts another tally's counts into this one.
func (a *Tally) Add(b Tally) {
	a.Requests += b.Requests
	for what, count := range b.Errors {
		a.Errors[what] += count
	}
	for move, count := range b.Moves {
		a.Moves[move] += count
	}
}

// Failed is the number of errors.
func (a Tally) Failed() int {
	total := 0
	for _, count := range a.Errors {
		total += count
	}
	return total
}

// Moved is how often a session left a backend that is not among those that are gone.
func (a Tally) Moved(gone ...string) int {
	total := 0
	for move, count := range a.Moves {
		if !slices.Contains(gone, move.From) {
			total += count
		}
	}
	return total
}

// String lists errors and moves.
func (a Tally) String() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(a.Errors)) {
		parts = append(parts, fmt.Sprintf("%d %s", a.Errors[what], what))
	}
	for move, count := range a.Moves {
		parts = append(parts, fmt.Sprintf("%d moved from %s to %s", count, move.From, move.To))
	}
	return fmt.Sprintf("%d requests: %s", a.Requests, strings.Join(append(parts, "the rest as before"), ", "))
}
