package rollout

import (
	"context"
	"errors"
	"fmt"
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

	unconfirmed bool // something in this change
}

// Rejected is the error for a file that Envoy does not take.
type Rejected struct {
	Stage, File, Reason string
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
	stages, err := Initial(to)
	if err != nil {
		return err
	}
	for _, s := range stages {
		if err := p.write(s); err != nil {
			return err
		}
	}
	return p.Folder.Clear()
}

// ErrLeftover is part of the error of a change that is live, while Envoy still has some of what it replaced.
var ErrLeftover = errors.New("what it replaces is still there")

// Publish brings Envoy from one configuration to another and returns when the other is live, and whether Envoy has
// said so. After an error that is not ErrLeftover Envoy has the old one, unless the error says otherwise.
func (p *Publisher) Publish(ctx context.Context, from, to *envoy.Discovery) (confirmed bool, err error) {
	stages, err := Stages(from, to)
	if err != nil {
		return false, err
	}
	p.unconfirmed = false
	for _, s := range stages {
		err := p.publish(ctx, s)
		switch {
		case err == nil:
		case s.Tidy:
			return true, fmt.Errorf("%w: %w", ErrLeftover, err)
		default:
			return false, p.undo(ctx, from, to, err)
		}
	}
	return !p.unconfirmed, nil
}

// undo brings the old configuration back.
func (p *Publisher) undo(ctx context.Context, from, to *envoy.Discovery, why error) error {
	for _, s := range Undo(from, to) {
		if err := p.publish(ctx, s); err != nil {
			return fmt.Errorf("%w; and the last good configuration is not back: %w", why, err)
		}
	}
	return why
}

// publish writes what is new in a stage and waits until it is in effect.
func (p *Publisher) publish(ctx context.Context, s Stage) error {
	if s.Files = p.Folder.findMissing(s.Files); len(s.Files) > 0 {
		watch, err := p.readBefore(ctx, s)
		if err != nil {
			return err
		}
		if err := p.write(s); err != nil {
			return err
		}
		if err := watch.wait(ctx); err != nil {
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

func (p *Publisher) write(s Stage) error {
	for _, f := range s.Files {
		if err := p.Folder.put(f); err != nil {
			return err
		}
	}
	return nil
}
