package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// demo is one run of the demonstration.
type demo struct {
	limpet   string        // the program
	config   string        // the folder that it compiles
	log      string        // where Envoy's log goes
	url      string        // where Envoy serves, as config says
	admin    string        // where its admin interface is
	backends []string      // addresses, as config says; they are called backend-1, backend-2 and so on
	patience time.Duration // how long the first request may take to succeed
	out      io.Writer     // for the person who runs it
}

// run starts everything, says so, and waits: for ctx to end, which is success, or for limpet to end, which is not.
func (d *demo) run(ctx context.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	servers, err := startBackends(d.backends)
	if err != nil {
		return err
	}
	defer servers.close()
	limpet, err := startLimpet(d.limpet, "run", "-f", d.config, "--bind", "127.0.0.1", "--", "--log-path", d.log)
	if err != nil {
		return err
	}
	defer limpet.stop()
	if err := d.waitUntilServing(ctx, limpet); err != nil || ctx.Err() != nil {
		return err
	}
	d.explain()
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.out, "\nstopping")
		return nil
	case <-limpet.ended:
		return fmt.Errorf("limpet has ended; Envoy's log: %s", d.log)
	}
}

// prepare looks for what must be there and clears the last run's log away.
func (d *demo) prepare() error {
	if _, err := os.Stat(d.limpet); err != nil {
		return fmt.Errorf("%s is missing; run 'make build' in the repository's root first", d.limpet)
	}
	if err := os.MkdirAll(filepath.Dir(d.log), 0o755); err != nil {
		return err
	}
	if err := os.Remove(d.log); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// waitUntilServing returns when a request through Envoy has succeeded, or ctx has ended.
func (d *demo) waitUntilServing(ctx context.Context, limpet *process) error {
	client := &http.Client{Timeout: time.Second}
	deadline := time.After(d.patience)
	for !succeeds(client, d.url+"/cart") {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil
		case <-limpet.ended:
			return d.neverServed()
		case <-deadline:
			return fmt.Errorf("no request succeeded within %s; Envoy's log: %s", d.patience, d.log)
		}
	}
	return nil
}

// errPrinted means that limpet's own words on stderr are all that there is to say.
var errPrinted = errors.New("limpet has said why it ended")

// neverServed is what to say when limpet ended before anything was served: Envoy's log knows why, where there is one.
func (d *demo) neverServed() error {
	if info, err := os.Stat(d.log); err != nil || info.Size() == 0 {
		return errPrinted
	}
	return fmt.Errorf("limpet ended before it served anything; Envoy's log: %s", d.log)
}

// succeeds tells whether a GET of url is answered 200.
func succeeds(client *http.Client, url string) bool {
	r, err := client.Get(url)
	if err != nil {
		return false
	}
	_ = r.Body.Close()
	return r.StatusCode == http.StatusOK
}

const explanation = `
Envoy serves %[1]s with sessions that stick, in front of %[2]d backends.
Its configuration is made of %[3]s, its log is %[4]s.

Try in another terminal:

  # with a cookie jar: the same backend every time
  jar=$(mktemp); for i in 1 2 3 4 5 6; do curl -s -c $jar -b $jar %[1]s/cart; done

  # without one: spread over all of them
  for i in 1 2 3 4 5 6; do curl -s %[1]s/cart; done

  # a forged cookie picks nothing: it is balanced like any new client's, and answered with a fresh cookie
  curl -si -b cart=forged %[1]s/cart

  # what limpet counted: new, pinned, malformed ...
  curl -s '%[5]s/stats?filter=limpet_sessions'

Ctrl-C ends all of it.
`

func (d *demo) explain() {
	fmt.Fprintf(d.out, explanation, d.url, len(d.backends), d.config, d.log, d.admin)
}
