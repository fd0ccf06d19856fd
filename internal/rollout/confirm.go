package rollout

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// How often Envoy is asked: soon at first, and then less and less, for with thousands of clusters an answer costs its
// main thread a good part of a second.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// readBefore remembers what Envoy says before a stage.
func (p *Publisher) readBefore(ctx context.Context, s Stage) (*confirmation, error) {
	c := &confirmation{publisher: p, stage: s.Name, warm: s.Warm, since: time.Now()}
	for _, f := range append(s.Files, s.Await...) {
		if f.Counters != "" {
			c.files = append(c.files, f)
			c.prefixes = append(c.prefixes, f.Counters)
		}
	}
	if p.Admin == "" || len(c.files) == 0 {
		return c, nil
	}
	var err error
	c.before, _, err = p.Admin.readCounters(ctx, c.prefixes)
	if err != nil && p.MayBeAway && ctx.Err() == nil {
		c.away, err = true, nil
	}
	return c, err
}

// confirmation waits for files to come into effect.
type confirmation struct {
	publisher *Publisher
	stage     string
	warm      bool
	files     []File
	prefixes  []string
	before    map[string]fileCounters
	since     time.Time
	away      bool // no Envoy answers
}

// wait returns when all files are in effect, or with an error when one is rejected or patience is over.
func (c *confirmation) wait(ctx context.Context) error {
	switch {
	case len(c.files) == 0:
		return nil
	case c.away:
		c.publisher.unconfirmed = true
		return nil
	case c.publisher.Admin == "":
		c.publisher.unconfirmed = true
		return sleep(ctx, c.publisher.Pause)
	}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		now, notReady, err := c.publisher.Admin.readCounters(ctx, c.prefixes)
		if err != nil {
			return err
		}
		waiting, err := c.compare(now)
		switch {
		case err != nil:
			return err
		case waiting == "" && (!c.warm || notReady == 0):
			return nil
		case time.Since(c.since) > c.publisher.Patience:
			return c.explainDelay(waiting)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// compare gives a file that Envoy has not read yet, or none, and an error for one that it rejects.
func (c *confirmation) compare(now map[string]fileCounters) (waiting string, err error) {
	for _, f := range c.files {
		was, is := c.before[f.Counters], now[f.Counters]
		if is.rejected > was.rejected || is.unreadable > was.unreadable {
			return "", &Rejected{Stage: c.stage, File: f.Path, Reason: c.reason()}
		}
		if is.version != f.Version || was.version == f.Version && is.taken == was.taken {
			waiting = f.Path
		}
	}
	return waiting, nil
}

func (c *confirmation) reason() string {
	if c.publisher.Reason == nil {
		return ""
	}
	return strings.TrimSpace(c.publisher.Reason(c.since))
}

func (c *confirmation) explainDelay(waiting string) error {
	if waiting == "" {
		return fmt.Errorf("the %s are not ready after %v: a listener or cluster still waits for something",
			c.stage, c.publisher.Patience)
	}
	return fmt.Errorf("waited %v in vain for Envoy to read %s", c.publisher.Patience, waiting)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
