package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/proxies"
)

const drainHelp = `drain has the Envoy of its Pod leave, and returns when it may end: clients are
told to come on another connection with each answer, and probes that it is not
ready. It returns when no client has a connection any more, but not before
--at-least, for load balancers need a while to hear of it, and after --timeout
at the latest. Managed proxies have it as their preStop hook.

With --install it copies limpet to a file, where the Envoy's container finds it,
and limpet-shard-1.so beside it, and does nothing else.`

// drainCommand is "limpet drain".
type drainCommand struct {
	admin            string
	timeout, atLeast time.Duration
	install          string
}

func newDrain() *cobra.Command {
	var dc drainCommand
	c := &cobra.Command{
		Use: "drain", Short: "Have an Envoy leave without a request that fails", Long: drainHelp, Args: dc.checkFlags,
		Hidden: true,
		RunE:   func(c *cobra.Command, _ []string) error { return dc.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&dc.admin, "admin", compiler.DefaultAdmin, "`ADDRESS` of Envoy's admin")
	flags.DurationVar(&dc.timeout, "timeout", time.Minute, "how much `TIME` it takes at most")
	flags.DurationVar(&dc.atLeast, "at-least", 10*time.Second, "how much `TIME` it takes at least")
	flags.StringVar(&dc.install, "install", "", "copy limpet to `FILE` instead")
	return c
}

func (dc *drainCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := noArgs(c, args); err != nil {
		return err
	}
	switch {
	case !isAddrPort(dc.admin):
		return usagef("--admin %q: must be an IP address and a port, such as %s", dc.admin, compiler.DefaultAdmin)
	case dc.atLeast < 0 || dc.timeout < dc.atLeast:
		return usagef("--at-least must not be less than 0, nor more than --timeout")
	}
	return nil
}

func (dc *drainCommand) run(c *cobra.Command) error {
	if dc.install != "" {
		return install(dc.install)
	}
	begun := time.Now()
	ctx, stop := context.WithTimeout(context.Background(), dc.timeout)
	defer stop()
	if err := dc.ask(ctx, http.MethodPost, envoy.DrainPage, io.Discard); err != nil {
		return err
	}
	for open := 0; ; {
		now, err := dc.countConnections(ctx)
		if err == nil {
			open = now
		}
		switch past := time.Since(begun); {
		case ctx.Err() != nil:
			message.Printf(c.ErrOrStderr(), "%d connections are still open after %v", open, dc.timeout)
			return nil
		case err != nil:
			return err
		case open == 0 && past >= dc.atLeast:
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(drainInterval):
		}
	}
}

// drainInterval is how often connections are counted.
const drainInterval = 100 * time.Millisecond

// ask asks Envoy's admin interface.
func (dc *drainCommand) ask(ctx context.Context, method, page string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+dc.admin+page, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s at %s: %s", page, dc.admin, response.Status)
	}
	_, err = io.Copy(to, response.Body)
	return err
}

// countConnections is how many clients' connections Envoy has: not those of probes, nor our own.
func (dc *drainCommand) countConnections(ctx context.Context) (open int, err error) {
	var text strings.Builder
	err = dc.ask(ctx, http.MethodGet, "/stats?filter=%5Elistener%5C..*%5C.downstream_cx_active%24", &text)
	for line := range strings.Lines(text.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(name, "listener.admin.") || strings.Contains(name, ".worker_") ||
			strings.HasSuffix(name, fmt.Sprintf("_%d.downstream_cx_active", proxies.ReadyPort)) {
			continue
		}
		n, failed := strconv.Atoi(value)
		open, err = open+n, errors.Join(err, failed)
	}
	return open, err
}

// install copies this program to a file, which is whole or not there, and puts the module beside it by which routes
// have shards.
func install(to string) error {
	if err := atomicfile.WriteAll(filepath.Dir(to), shardFiles()); err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(own)
	if err != nil {
		return err
	}
	defer from.Close()
	return atomicfile.Copy(to, from, 0o755)
}
