package rollout

import (
	"cmp"
	"context"
	"errors"
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

// quickLooks is how many times Envoy is asked for nothing but versions where that will do. If they do not come by then, it may have
// rejected a file.
const quickLooks = 3

// shortPatience is how long a stage may take that another change waits for, or that has had all its time already.
const shortPatience = 2 * time.Second

// watched is a file whose effect is waited for.
type watched struct {
	File
	// again says that Envoy reads the file, and so once more now that it is written. Else it is one that Envoy reads
	// because of this stage, or that an earlier change wrote: whenever Envoy has read it, this version is what counts.
	// For a listener that was taken away drains for a while, and its routes are read the moment they are written.
	again bool
}

// confirmation waits for files to come into effect.
type confirmation struct {
	publisher *Publisher
	stage     string
	warm      bool
	files     []watched
	prefixes  []string
	before    map[string]fileCounters
	recalled  bool // before was not asked for
	since     time.Time
	patience  time.Duration
	away      bool // no Envoy answers
}

// readBefore remembers what Envoy says before a stage whose Files are those to be written; late are those of it that an
// earlier change has written.
func (p *Publisher) readBefore(ctx context.Context, s Stage, late []File) (*confirmation, error) {
	c := &confirmation{publisher: p, stage: s.Name, warm: s.Warm, since: time.Now(), patience: p.Patience}
	if len(s.Files) == 0 {
		c.patience = min(c.patience, shortPatience)
	}
	for _, f := range s.Files {
		c.watch(f, true)
	}
	for _, f := range append(late, s.Await...) {
		c.watch(f, false)
	}
	if p.Admin == "" || len(c.prefixes) == 0 {
		return c, nil
	}
	if c.before = p.recall(s, late); c.before != nil {
		c.recalled = true
		return c, nil
	}
	var err error
	c.before, err = p.Admin.readCounters(ctx, c.prefixes)
	if err != nil && p.MayBeAway && ctx.Err() == nil {
		c.away, err = true, nil
	}
	if c.before != nil {
		c.exchangeUnread(s)
	}
	return c, err
}

// recall gives what Envoy said of a stage's files when they came into effect last, so that it need not be asked again; nil where
// that may not be all that has happened to them since.
func (p *Publisher) recall(s Stage, late []File) map[string]fileCounters {
	if len(late)+len(s.Await) > 0 {
		return nil
	}
	before := map[string]fileCounters{}
	for _, f := range s.Files {
		was, known := p.said[f.Counters]
		if !known || f.Unread || was.version == f.Version {
			return nil
		}
		before[f.Counters] = was
	}
	return before
}

func (c *confirmation) watch(f File, again bool) {
	c.prefixes = append(c.prefixes, f.Counters)
	if !f.Unread {
		c.files = append(c.files, watched{f, again})
	}
}

// exchangeUnread leaves the counters of files that Envoy reads with a later stage to that stage: should Envoy read and
// reject one at once, that stage sees it.
func (c *confirmation) exchangeUnread(s Stage) {
	for _, f := range s.Files {
		if f.Unread {
			c.publisher.unread[f.Counters] = c.before[f.Counters]
		}
	}
	for _, f := range s.Await {
		if before, known := c.publisher.unread[f.Counters]; known {
			c.before[f.Counters] = before
		}
	}
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
	for pause, looks := firstLook, 1; ; pause, looks = min(2*pause, lastLook), looks+1 {
		late := c.outOfPatience()
		waiting, warm, err := c.ask(ctx, !c.recalled || looks > quickLooks || late)
		switch rejected := new(Rejected); {
		case errors.As(err, &rejected):
			return err
		case err != nil:
			return c.explainSilence(ctx, err)
		case waiting == "" && warm:
			return nil
		case late:
			return c.explainDelay(waiting)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// ask gives a file that Envoy has not taken over yet, or none, and whether all that it has taken over serves. It is an error if
// Envoy rejects one, which only a thorough look sees.
func (c *confirmation) ask(ctx context.Context, thorough bool) (waiting string, warm bool, err error) {
	admin := c.publisher.Admin
	if thorough {
		now, err := admin.readCounters(ctx, c.prefixes)
		if err != nil {
			return "", false, err
		}
		if waiting, err = c.compare(now); err != nil {
			return "", false, err
		}
	} else {
		versions, err := admin.readVersions(ctx, c.prefixes)
		if err != nil {
			return "", false, err
		}
		waiting = c.findWaiting(versions)
	}
	if waiting != "" || !c.warm {
		return waiting, true, nil
	}
	warm, err = admin.isWarm(ctx)
	return "", warm, err
}

// findWaiting gives a file of which Envoy has not the version, which it did not have before.
func (c *confirmation) findWaiting(versions map[string]string) string {
	for _, f := range c.files {
		if version, reads := versions[f.Counters]; reads && version != f.Version {
			return f.Path
		}
	}
	return ""
}

// explainSilence is about an Envoy that no longer answers. One that may be away reads the files when it is back.
func (c *confirmation) explainSilence(ctx context.Context, why error) error {
	if !c.publisher.MayBeAway || ctx.Err() != nil {
		return why
	}
	c.publisher.unconfirmed = true
	return nil
}

func (c *confirmation) outOfPatience() bool {
	took := time.Since(c.since)
	waits := c.publisher.Waiting
	return took > c.patience || took > shortPatience && waits != nil && waits()
}

// compare gives a file that Envoy has not read yet, or none, and an error for one that it rejects.
func (c *confirmation) compare(now map[string]fileCounters) (waiting string, err error) {
	for _, f := range c.files {
		was, is, reads := c.look(f.Counters, now)
		switch {
		case is.rejected > was.rejected || is.unreadable > was.unreadable:
			return "", &Rejected{Stage: c.stage, File: f.Path, Reason: c.reason()}
		case f.again && !reads: // it will, with the next that needs it
		case is.version != f.Version || f.again && was.version == f.Version && is.taken == was.taken:
			waiting = cmp.Or(waiting, f.Path)
		}
	}
	return waiting, nil
}

// look gives a file's counters before and now, and whether Envoy reads it at all. They begin at 0 when it begins to.
func (c *confirmation) look(counters string, now map[string]fileCounters) (was, is fileCounters, reads bool) {
	is, reads = now[counters]
	was = c.before[counters]
	if is.taken < was.taken || is.rejected < was.rejected || is.unreadable < was.unreadable {
		was = fileCounters{}
	}
	return was, is, reads
}

func (c *confirmation) reason() string {
	if c.publisher.Reason == nil {
		return ""
	}
	return strings.TrimSpace(c.publisher.Reason(c.since))
}

func (c *confirmation) explainDelay(waiting string) error {
	took := time.Since(c.since).Round(time.Second)
	if waiting == "" {
		return &Unconfirmed{fmt.Sprintf("the %s are not ready after %v: a listener or cluster still waits for something",
			c.stage, took)}
	}
	return &Unconfirmed{fmt.Sprintf("Envoy has not taken over %s within %v", waiting, took)}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
