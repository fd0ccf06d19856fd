package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// Publisher puts files into a folder that an Envoy watches.
type Publisher struct {
	Folder Folder
	// Admin is where that Envoy says what it made of a file; empty where it can't be asked.
	Admin Admin
	// Pause is how long to wait after each stage for an Envoy that can't be asked.
	Pause time.Duration
	// Patience is how long Envoy may take over a stage.
	Patience time.Duration
	// Reason says what Envoy has said since a time about what it rejects; nil for nothing.
	Reason func(since time.Time) string
	// MayBeAway says that there may be no answer at Admin: Envoy then takes over what it finds when it starts.
	MayBeAway bool

	// Waiting tells whether another change is there, for which a stage that takes long makes room; nil is never.
	Waiting func() bool

	unconfirmed bool                    // something in this change
	unread      map[string]fileCounters // of files that Envoy need not read yet, from before they were written
	said        map[string]fileCounters // of files that came into effect, with all that Envoy had said of them before
	late        map[string]string       // versions of files that Envoy did not confirm, by path
	clusters    map[string]bool         // names of those that Envoy has
}

// Rejected is the error for a file that Envoy does not take.
type Rejected struct {
	Stage, File, Reason string
	// Missing are the names of the listeners that Envoy does not have, where it is the listeners that it rejects: it takes the
	// others.
	Missing []string
	// Changed are the names of those that it has and that may be as they were: Envoy does not take what has become of them.
	Changed []string
}

// Error names the stage and the file, and gives Envoy's reason where it is known.
func (r *Rejected) Error() string {
	if r.Reason == "" {
		return fmt.Sprintf("Envoy rejects the %s (%s); its log says why", r.Stage, r.File)
	}
	return fmt.Sprintf("Envoy rejects the %s (%s): %s", r.Stage, r.File, r.Reason)
}

// Start writes everything for an Envoy that starts later, and removes what an earlier program left.
func (p *Publisher) Start(to *envoy.Discovery) error {
	for _, s := range Initial(to) {
		if err := p.write(s); err != nil {
			return err
		}
	}
	p.clusters = setOf(clusterNames(to))
	return p.Folder.Clear()
}

// CheckFilter gives an error for an Envoy that has started with a configuration and not taken the filter: its listeners serve all the
// same, and answer 500 where there are sessions.
func (p *Publisher) CheckFilter(ctx context.Context, to *envoy.Discovery) error {
	c := &confirmation{publisher: p, stage: "filter"}
	c.watch(filterFile(to.Filter), false)
	now, err := p.Admin.readCounters(ctx, c.prefixes)
	if err != nil {
		return err
	}
	_, err = c.compare(now)
	return err
}

// ErrLeftover is part of the error of a change that is live, while Envoy still has some of what it replaced.
var ErrLeftover = errors.New("what it replaces is still there")

// Unconfirmed is the error for what Envoy has neither taken over nor rejected in time. The files stay where they are, for
// Envoy may take them over at any moment; what needs them waits.
type Unconfirmed struct{ Reason string }

// Error says what Envoy has not done.
func (u *Unconfirmed) Error() string { return u.Reason }

// Publish brings Envoy from one configuration to another and returns when the other is live, and whether Envoy has
// said so. Live is what Envoy has afterwards: the new configuration, also with ErrLeftover; the old one after an error
// that is none of ours; and with Unconfirmed, or when the way back fails, it may have any part of both.
func (p *Publisher) Publish(
	ctx context.Context, from, to *envoy.Discovery,
) (live *envoy.Discovery, confirmed bool, err error) {
	p.unconfirmed, p.unread = false, map[string]fileCounters{}
	var late *Unconfirmed
	for _, s := range Stages(from, to) {
		if late != nil && !s.Free && !p.hasClusters(s.Needs) {
			continue // what it needs may not be there
		}
		err := p.publish(ctx, s)
		switch {
		case err == nil && s.Brings != nil:
			p.clusters = setOf(s.Brings)
		case err == nil:
		case s.Tidy:
			return to, true, fmt.Errorf("%w: %w", ErrLeftover, err)
		case !errors.As(err, &late):
			if !s.Trial {
				p.findRefused(ctx, from, to, err)
			}
			return p.undo(ctx, from, to, err)
		}
	}
	if late != nil {
		return Unite(from, to), false, late
	}
	return to, !p.unconfirmed, nil
}

// findRefused finds out which listeners Envoy does not take, before all of the change is taken back: it takes the others.
func (p *Publisher) findRefused(ctx context.Context, from, to *envoy.Discovery, why error) {
	var rejected *Rejected
	if !errors.As(why, &rejected) || rejected.File != envoy.ListenersFile {
		return
	}
	for deadline := time.Now().Add(shortPatience); time.Now().Before(deadline); {
		warm, err := p.Admin.isWarm(ctx)
		if err != nil || warm || sleep(ctx, lastLook) != nil {
			break // else those that it takes are not ready yet
		}
	}
	has, err := p.Admin.listListeners(ctx)
	if err != nil {
		return
	}
	for _, l := range to.Listeners {
		if !has[l.Name] {
			rejected.Missing = append(rejected.Missing, l.Name)
		}
	}
	rejected.Changed = findChanged(from, to, rejected)
}

// findChanged gives the listeners whose change Envoy may have rejected: those that its words name. Without words these are all
// that have changed, unless a missing listener explains it.
func findChanged(from, to *envoy.Discovery, rejected *Rejected) (names []string) {
	before := map[string][]byte{}
	for _, l := range from.Listeners {
		before[l.Name] = l.Content
	}
	for _, l := range to.Listeners {
		named := strings.Contains(rejected.Reason, l.Name+":")
		if was, is := before[l.Name]; is && !bytes.Equal(was, l.Content) && (named || rejected.Reason == "" && len(rejected.Missing) == 0) {
			names = append(names, l.Name)
		}
	}
	return names
}

// hasClusters reports whether Envoy has said that it has these clusters: a route table that needs no others, as when a
// session policy changes, does not wait for those that are late.
func (p *Publisher) hasClusters(names []string) bool {
	return names != nil && !slices.ContainsFunc(names, func(name string) bool { return !p.clusters[name] })
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// undo brings the old configuration back.
func (p *Publisher) undo(
	ctx context.Context, from, to *envoy.Discovery, why error,
) (live *envoy.Discovery, confirmed bool, err error) {
	for _, s := range Undo(from, to) {
		if err := p.publish(ctx, s); err != nil {
			return Unite(from, to), false, fmt.Errorf("%w; and what was there before is not back: %w", why, err)
		}
	}
	return from, false, why
}

// publish writes what is new in a stage and waits until it is in effect, and what Envoy has not confirmed before.
func (p *Publisher) publish(ctx context.Context, s Stage) error {
	late := p.findLate(s.Files)
	if s.Files = p.Folder.findMissing(s.Files); len(s.Files)+len(late) > 0 {
		watch, err := p.readBefore(ctx, s, late)
		if err != nil {
			return err
		}
		if err := p.write(s); err != nil {
			return err
		}
		err = watch.wait(ctx)
		p.noteLate(watch, err)
		if err != nil {
			return err
		}
	}
	for _, path := range s.Remove {
		if err := p.Folder.remove(path); err != nil {
			return err
		}
	}
	return nil
}

// findLate gives those files that are written and not confirmed.
func (p *Publisher) findLate(files []File) []File {
	var found []File
	for _, f := range files {
		if p.late[f.Path] == f.Version && p.Folder.versions[f.Path] == f.Version {
			found = append(found, f)
		}
	}
	return found
}

// noteLate remembers which files came into effect, and which did not.
func (p *Publisher) noteLate(watch *confirmation, err error) {
	if p.said == nil || len(p.said) > len(p.Folder.versions) { // of files that are gone, too
		p.said = map[string]fileCounters{}
	}
	for _, f := range watch.files {
		delete(p.late, f.Path)
		delete(p.said, f.Counters)
		if was, known := watch.before[f.Counters]; known && err == nil && !p.unconfirmed {
			was.version = f.Version
			p.said[f.Counters] = was
		}
		if errors.As(err, new(*Unconfirmed)) {
			if p.late == nil {
				p.late = map[string]string{}
			}
			p.late[f.Path] = f.Version
		}
	}
}

func (p *Publisher) write(s Stage) error {
	for _, f := range s.Files {
		if err := p.Folder.put(f); err != nil {
			return err
		}
	}
	return nil
}
