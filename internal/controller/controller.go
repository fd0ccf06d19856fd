// Package controller keeps what Envoys are served up to date with an input, files or the objects of an API server: it
// compiles each change and publishes it, while what was served before goes on where a change is no good.
//
// One loop does it, [Controller.Run], a pass for each change:
//
//	Changes.Next   tells that the input has changed, or that something is due
//	Read           reads it
//	held.compile   holds back what is no good in it, and has the rest compiled
//	compile        makes a pass of it, with what is remembered (package memory)
//	publish        gives the server a snapshot for each Gateway (package xds)
//
// Envoys acknowledge what they are served to the server, each for itself; no pass waits for them.
package controller

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// DefaultGrace is how long a Gateway stays Programmed without an Envoy, unless somebody chooses otherwise.
const DefaultGrace = 30 * time.Second

// Controller keeps what a server serves up to date with an input.
type Controller struct {
	// Changes tells when the input changes. It must be made before that is read for the first time.
	Changes Changes
	// Read reads the input. What there is to say of key files goes to stderr.
	Read func(stderr io.Writer) (Input, error)
	// Options are those of a compilation of the input, and Served those of [compiler.EnvoyOptions], without what is
	// remembered.
	Options func(Input) compiler.Options
	Served  compiler.Served
	Server  *xds.Server
	Memory  *memory.Memory
	// Admitted says that an API server has admitted the objects, and that nothing at all may be served.
	Admitted bool
	// Again, if there is one, has Changes tell of a change once more. The sources are objects of an API server then, whose
	// namespaces take turns.
	Again func()
	// Strict makes Start fail on an invalid file, in place of going on without it.
	Strict bool
	// Probe says that the Envoy runs here: a listener at an address that this machine has not, or not free, is left out,
	// and the address is tried again.
	Probe bool
	// Style is how findings are told.
	Style message.Style
	// Stderr is for people, and Announce tells of a change that was published; nil prints it.
	Stderr   io.Writer
	Announce func(change int, since time.Time, what string)
	// Compiled and Published, if there are any, are told how long each compilation took, and of each change of a Gateway.
	Compiled  func(took time.Duration, err error)
	Published func(gateway string, since time.Time, generation string)
	// Proxies, if there is one, says how the proxies do that are run for Gateways, and what is wrong with parameters of
	// classes.
	Proxies func() (states map[string]compiler.Proxies, classes map[string]string)
	// Elsewhere, if there is one, gives the listeners that Envoys of other processes have acknowledged, as
	// [xds.Server.Acknowledged], and TellElsewhere, if there is one, is called when those of this one's may have changed.
	Elsewhere     func() map[string][]string
	TellElsewhere func()
	// Grace is how long a Gateway stays Programmed without an Envoy that has acknowledged its listeners: Envoys restart,
	// and listeners change.
	Grace time.Duration
	// Notify, if there is one, is called after each change of what statuses depend on.
	Notify func()

	loop     loop
	keeping  keeping
	done     atomic.Int64 // compilations and checks
	rejected atomic.Bool  // the last check knew of something that an Envoy did not take
	checking sync.Mutex   // of statuses
	statuses statuses

	acknowledged acknowledged

	lock       sync.Mutex // of what follows, and of the memory
	remembered remembered
}

// loop is what the one goroutine knows that Start and Run are called by.
type loop struct {
	input     Input // of the last pass
	held      held
	changes   int       // so far
	until     time.Time // when the same input comes to something else, as a host will have drained; zero is never
	collected time.Time
	turns     turns
	turn      *time.Timer // for the next turn
	readError string      // the last one, empty since the input could be read again
	failure   string      // why the last pass failed, empty where it did not, or of another input
}

// remembered is the state that a pass leaves to the next one.
type remembered struct {
	follower  *compiler.Follower
	given     read.List // to the follower
	input     *Input    // of the last pass that came to something; nil before the first
	published map[string]published
	keys      keyfile.Fingerprints
	ring      policyconfig.KeyRing          // of the keys of the last pass that came to something
	ended     map[object.Ref]compiler.Ended // sessions that edits have ended
	unused    time.Duration                 // the longest that a session of what is published goes on without a request
	unusable  map[netip.AddrPort]string     // addresses at which no listener can be, with the reason
	// since when there are addresses that Envoys may not know to be other pods'; zero for none
	unacknowledged time.Time
	// unserved says that some of these were found after what is published was made, and changes that there is something
	// that statuses may depend on.
	unserved, changes bool
	// refused is what of the input is not in effect, since that time.
	refused      []string
	refusedSince time.Time
}

// Start reads and compiles the input, and publishes the result, before Run keeps it up to date.
func (c *Controller) Start() (*compiler.Result, error) {
	begun := time.Now()
	var err error
	if c.loop.input, err = c.Read(c.Stderr); err != nil {
		return nil, err
	}
	c.loop.held.strict = c.Strict
	p, err := c.compileHeld()
	if err != nil {
		return nil, err
	}
	c.loop.held.holdLeftOut(c.loop.input.Sources, p.result.Warnings)
	_, err = c.publish(begun, p)
	c.noteInput()
	return p.result, err
}

// Run makes one pass after the other until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	for {
		since, changed := c.Changes.Next(ctx, c.loop.until)
		switch {
		case ctx.Err() != nil:
			return
		case changed:
			c.reread(since)
		default:
			c.loop.until = time.Time{} // should it fail, the next change will tell
			c.pass(since)
			c.noteInput()
		}
	}
}

// lastGood says what goes on when a change does not come into effect.
const lastGood = "the last good configuration keeps serving"

// reread reads the input again, and makes a pass if it says anything else than before.
func (c *Controller) reread(since time.Time) {
	defer c.noteInput()
	now, err := c.Read(io.Discard) // what there was to say of the key file has been said
	if err != nil {
		if c.loop.readError != err.Error() {
			message.PrintError(c.Stderr, err)
			message.Print(c.Stderr, "the input can't be read; "+lastGood)
		}
		c.loop.readError = err.Error()
		return
	}
	recovered := c.loop.readError != ""
	c.loop.readError = ""
	if now.equal(&c.loop.input) && !recovered { // that it can be read again is told of, as a change to nothing
		c.loop.turns.waiting = time.Time{} // what waited was taken back
		return
	}
	var next time.Time // when others' turn is
	if c.Again != nil {
		now.Sources, since, next = c.loop.turns.take(c.loop.input.Sources, now.Sources, time.Now(), since)
	}
	if !now.equal(&c.loop.input) || recovered {
		begun := time.Now()
		c.loop.input, c.loop.failure = now, ""
		c.pass(since)
		c.loop.turns.end(time.Now(), time.Since(begun))
	}
	if !next.IsZero() {
		if c.loop.turn != nil {
			c.loop.turn.Stop()
		}
		c.loop.turn = time.AfterFunc(time.Until(next), c.Again)
	}
}

// pass compiles and publishes the input that was read last, and says what that came to.
func (c *Controller) pass(since time.Time) {
	c.loop.changes++
	p, err := c.compileHeld()
	what := ""
	if err == nil {
		if len(p.warnings)+len(p.ended) > 0 {
			c.printFound(p)
		}
		what, err = c.publish(since, p)
	}
	reason := c.loop.failure
	c.loop.failure = ""
	if err != nil {
		c.loop.failure = err.Error()
	}
	switch {
	case err != nil && c.loop.failure == reason, err == nil && what == "": // it is tried again, or was no change
		c.loop.changes--
	case err != nil:
		c.printFailure(err)
	case c.Announce != nil:
		c.Announce(c.loop.changes, since, what)
	default:
		message.Printf(c.Stderr, "change %d %s", c.loop.changes, what)
	}
	c.collect()
}

// compileHeld compiles the input that was read last, with the last good version of invalid files.
func (c *Controller) compileHeld() (*pass, error) {
	p, err := c.loop.held.compile(c.loop.input, c.compile, c.Stderr)
	if err == nil {
		c.loop.until = p.result.Until
	} else if errors.As(err, &addressError{}) {
		c.loop.until = time.Now().Add(probeEvery)
	}
	return p, err
}

// printFailure says why a change is not published.
func (c *Controller) printFailure(err error) {
	var refused compiler.Errors
	if errors.As(err, &refused) {
		message.PrintProblems(c.Stderr, refused, c.Style)
		message.Printf(c.Stderr, "change %d refused: %s; %s", c.loop.changes, message.Plural(len(refused), "error"), lastGood)
		return
	}
	message.PrintError(c.Stderr, err)
	message.Printf(c.Stderr, "change %d failed; %s", c.loop.changes, lastGood)
}

// collectEvery is how often memory is collected after changes: they may come many times a second.
const collectEvery = 10 * time.Second

// collect collects memory now that nothing waits for it, not during the next change.
func (c *Controller) collect() {
	if now := time.Now(); now.Sub(c.loop.collected) >= collectEvery {
		c.loop.collected = now
		go runtime.GC()
	}
}
