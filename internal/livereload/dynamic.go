package livereload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/rollout"
)

// discoveryFolder is the folder, next to envoy.yaml, of what Envoy discovers.
const discoveryFolder = "discovery"

// patience is how long Envoy may take over a step of a change: seconds for thousands of clusters or policies.
const patience = time.Minute

// Dynamic is the output of an Envoy that takes changes over while it runs.
type Dynamic struct {
	// Options are those of a compilation of the inputs, without what makes it dynamic. But for keys they do not change.
	Options func(Inputs) compiler.Options
	// FileMode is the mode of a result's files.
	FileMode func(*compiler.Result) fs.FileMode
	// EndpointFiles is up to how many clusters each has a file for its endpoints.
	EndpointFiles int
	// Publisher brings changes to Envoy; what may be set of it is how Envoy confirms them.
	Publisher rollout.Publisher
	// ProbePorts says that Envoy runs here: a listener at an address that this machine has not, or not free, is left out. It is
	// tried again with each change.
	ProbePorts bool
	// Reports says that what there is to say of the input is asked for with each result, be it new or not.
	Reports bool

	memory   *memory.Memory
	inputs   Inputs // of the last compilation
	live     *envoy.Discovery
	follower *compiler.Follower
	unusable map[netip.AddrPort]string // addresses at which no listener can be, with the reason
	refused  map[netip.AddrPort]refusal
	kept     keptListeners
	// fresh are the problems that the last compilation was the first to find.
	fresh []compiler.Problem
}

// NewDynamic makes the output for an envoy.yaml in a folder that is there, or will be.
func NewDynamic(dir string, known *memory.Memory) (*Dynamic, error) {
	folder, err := filepath.Abs(filepath.Join(dir, discoveryFolder))
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link, and keys may be written there: remove it, or name the folder that it leads to", folder)
	}
	publisher := rollout.Publisher{Folder: rollout.Folder{Path: folder}, Patience: patience}
	return &Dynamic{Publisher: publisher, memory: known, kept: keptListeners{}}, nil
}

// Compile compiles the inputs, without the listeners for which this machine has no room, and remembers which hosts terminate.
func (d *Dynamic) Compile(in Inputs) (*compiler.Result, error) {
	if err := d.startFollower(in); err != nil {
		return nil, err
	}
	d.unusable = envoyproc.FindUnusable(envoyproc.AddressesOf(d.unusable)) // those that still are
	maps.DeleteFunc(d.refused, func(_ netip.AddrPort, r refusal) bool { return time.Since(r.at) > refusedFor })
	result, err := d.compileWithout(in)
	if err != nil || !d.ProbePorts {
		return result, err
	}
	more := envoyproc.FindUnusable(envoyproc.ListenerAddresses(d.listAdded(result.Discovery)))
	switch {
	case len(more) == 0:
		return result, nil
	case len(more) == len(result.Discovery.Listeners):
		return nil, envoyproc.CheckFree(envoyproc.ListenerAddresses(result.Discovery.Listeners))
	}
	maps.Copy(d.unusable, more)
	said := d.fresh
	result, err = d.compileWithout(in)
	d.fresh = append(said, d.fresh...)
	return result, err
}

// compileWithout compiles the inputs without the listeners at addresses that can't be had.
func (d *Dynamic) compileWithout(in Inputs) (*compiler.Result, error) {
	now := time.Now()
	update, err := d.follow(in, now, nil)
	if err != nil {
		return nil, err
	}
	d.inputs, d.fresh = in, update.NewWarnings
	moved, err := d.memory.Owners.See(update.Pods, now)
	if err := errors.Join(err, d.memory.Selected.See(update.Selection)); err != nil {
		return nil, err
	}
	if len(moved) > 0 {
		if update, err = d.follow(in, now, moved); err != nil {
			return nil, err
		}
		d.fresh = append(d.fresh, update.NewWarnings...)
	}
	assemble := update.Configuration
	if d.Reports || d.live == nil {
		assemble = update.Result // with all that there is to say
	}
	result, err := assemble()
	if err != nil {
		return nil, err
	}
	return result, d.memory.Draining.See(result.Draining, now)
}

// follow has the follower take the inputs, with what is remembered. Moved are the addresses of which that is news.
func (d *Dynamic) follow(in Inputs, now time.Time, moved []compiler.HostKey) (*compiler.Update, error) {
	unusable := maps.Clone(d.unusable)
	for at, r := range d.refused {
		unusable[at] = r.why
	}
	c := compiler.Changes{Keys: in.Keys, Time: now, Moved: moved, Unusable: unusable}
	d.memory.Recall(&c)
	return d.follower.Replace(in.Sources, c)
}

// NewWarnings are the problems that the last compilation was the first to find.
func (d *Dynamic) NewWarnings() []compiler.Problem { return d.fresh }

// startFollower makes what follows the inputs, with the first of them.
func (d *Dynamic) startFollower(in Inputs) (err error) {
	if d.follower != nil {
		return nil
	}
	o := d.Options(in)
	o.Envoy.Dynamic = &compiler.Dynamic{Folder: d.Publisher.Folder.Path, EndpointFiles: d.EndpointFiles}
	o.Incumbents = &compiler.Incumbents{}
	o.HoldInvalid = true
	d.follower, err = compiler.NewFollower(o)
	return err
}

// refusal is why and when Envoy did not take a listener.
type refusal struct {
	why string
	at  time.Time
}

// refusedFor is how long a listener is left out that Envoy did not take. With the next change after that it is tried again.
const refusedFor = time.Minute

// ErrAgain is part of the error of a change of which Envoy does not take some listeners: compiled again, it goes without them.
var ErrAgain = errors.New("that listener is left out, or stays as it was, and everything else goes on")

// leaveOut leaves the listeners out that Envoy does not take, unless these are all, and keeps those as they are of which it does
// not take the change.
func (d *Dynamic) leaveOut(why error, of *envoy.Discovery) error {
	var rejected *rollout.Rejected
	if !errors.As(why, &rejected) || len(rejected.Missing)+len(rejected.Changed) == 0 || len(rejected.Missing) >= len(of.Listeners) {
		return why
	}
	d.kept.keep(rejected.Changed, of)
	if d.refused == nil {
		d.refused = map[netip.AddrPort]refusal{}
	}
	for _, name := range rejected.Missing {
		at, err := envoy.ParseListenerName(name)
		if err != nil {
			return errors.Join(why, err)
		}
		d.refused[at] = refusal{fmt.Sprintf("the Envoy that runs does not listen on %s, its log says why; "+
			"change the Gateway's port or address", at), time.Now()}
	}
	return fmt.Errorf("%w: %w", why, ErrAgain)
}

// Start writes everything for an Envoy that starts later.
func (d *Dynamic) Start(result *compiler.Result) error {
	if next, err := d.confirm(result); err != nil {
		return err
	} else if next != nil {
		result = next // that Envoy will know from the start
	}
	d.live = result.Discovery
	d.Publisher.Folder.Tighten(d.FileMode(result))
	return errors.Join(d.Publisher.Start(result.Discovery), d.memory.Owners.Keep())
}

// Resume begins where an earlier limpet left the folder: an Envoy may be running on what is in there.
func (d *Dynamic) Resume(ctx context.Context, stderr io.Writer, result *compiler.Result) error {
	before, err := d.Publisher.Folder.Read()
	if err != nil {
		message.Printf(stderr, "what is in %s can't be read, and is written anew: %v", d.Publisher.Folder.Path, err)
	}
	if before == nil || err != nil {
		return d.Start(result)
	}
	d.live = before
	what, err := d.Apply(ctx, time.Now(), result)
	if err != nil {
		return err
	}
	message.Printf(stderr, "since the last time: %s", what)
	return d.Publisher.Folder.Clear()
}

// Apply brings Envoy to a new configuration. Addresses that have passed to other pods are endpoints again once it knows that.
func (d *Dynamic) Apply(ctx context.Context, since time.Time, result *compiler.Result) (string, error) {
	what, err := d.publish(ctx, since, result)
	if err != nil {
		return "", err
	}
	next, err := d.confirm(result)
	if err == nil && next != nil {
		what, err = d.publish(ctx, since, next)
	}
	return what, errors.Join(err, d.memory.Owners.Keep())
}

// confirm gives the configuration of the same inputs when Envoy knows to which pods addresses have passed; nil if there are none.
func (d *Dynamic) confirm(result *compiler.Result) (*compiler.Result, error) {
	if !result.Unsettled {
		return nil, nil
	}
	if news, err := d.memory.Owners.Confirm(); err != nil || !news {
		return nil, err
	}
	said := d.fresh
	next, err := d.compileWithout(d.inputs)
	d.fresh = append(said, d.fresh...)
	return next, err
}

func (d *Dynamic) publish(ctx context.Context, since time.Time, result *compiler.Result) (string, error) {
	d.Publisher.Folder.Tighten(d.FileMode(result))
	next := d.kept.putBack(d.live, result.Discovery)
	summary := rollout.Summary(rollout.Changes(d.live, next))
	live, confirmed, err := d.Publisher.Publish(ctx, d.live, next)
	d.live = live
	if err != nil && !errors.Is(err, rollout.ErrLeftover) {
		return "", d.leaveOut(err, next)
	}
	took := formatDuration(since)
	switch {
	case err != nil:
		return fmt.Sprintf("live %s: %s; but %v", took, summary, err), nil
	case !confirmed:
		return fmt.Sprintf("written %s, which no Envoy has confirmed: %s", took, summary), nil
	default:
		return fmt.Sprintf("live %s: %s", took, summary), nil
	}
}

// Serving says what goes on when a change does not come into effect.
func (d *Dynamic) Serving() string {
	if d.live != nil && len(d.live.Listeners) == 0 {
		return "Envoy goes on without listeners, as it was before: no request is served"
	}
	return LastGood
}

// listAdded gives the listeners that the live configuration does not have.
func (d *Dynamic) listAdded(next *envoy.Discovery) (added []envoy.Resource) {
	live := map[string]bool{}
	if d.live != nil {
		for _, l := range d.live.Listeners {
			live[l.Name] = true
		}
	}
	for _, l := range next.Listeners {
		if !live[l.Name] {
			added = append(added, l)
		}
	}
	return added
}

// CheckFilter gives an error for an Envoy that has started and serves without the filter.
func (d *Dynamic) CheckFilter(ctx context.Context) error { return d.Publisher.CheckFilter(ctx, d.live) }

// WaitReady waits until Envoy serves; false when ctx ends before.
func (d *Dynamic) WaitReady(ctx context.Context) bool {
	for !d.Publisher.Admin.Ready(ctx) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}
