package kubernetes

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/proxies"
)

// Acknowledgements tells the process that writes statuses which listeners the Envoys of all processes have
// acknowledged: each writes those of its own Envoys into a Lease of limpet's namespace, and keeps that alive.
type Acknowledgements struct {
	leases leases
	name   string // of this process's Lease
	// own gives what this process's Envoys have acknowledged, by their Gateway, and changed is called when that of others
	// has changed.
	own     func() map[string][]string
	changed func()
	log     *slog.Logger
	wake    chan struct{}

	lock   sync.Mutex
	others map[string]otherProcess // by their Lease
	read   map[string][]string     // what they came to at the last look
}

// otherProcess is what another process's Lease says.
type otherProcess struct {
	acknowledged map[string][]string
	renewed      string    // as it stands there
	seen         time.Time // when that was new: clocks of machines differ
}

const (
	acknowledgementsLabel = "limpet.dev/acknowledgements"
	// acknowledgementsAnnotation has them as JSON.
	acknowledgementsAnnotation = "limpet.dev/acknowledged-listeners"
	// maxAcknowledgements is how large the annotation may be, in bytes: all annotations together may have 256 KiB. The
	// rest is not told.
	maxAcknowledgements = 200 << 10
	// A Lease is renewed every renewAcknowledgements. One that was not renewed for staleAcknowledgements is ignored, and
	// deleted after ten times that.
	renewAcknowledgements = 10 * time.Second
	staleAcknowledgements = 3 * renewAcknowledgements
	// Others' are read every readAcknowledgements.
	readAcknowledgements = 5 * time.Second
	// tellAcknowledgements is how long changes are gathered before they are written.
	tellAcknowledgements = 500 * time.Millisecond
)

// NewAcknowledgements makes the Acknowledgements of a process. process is its unique name, and part of the Lease's.
func NewAcknowledgements(
	config *rest.Config, namespace, process string, own func() map[string][]string, changed func(), log *slog.Logger,
) (*Acknowledgements, error) {
	written, err := newLeases(config, namespace)
	if err != nil {
		return nil, err
	}
	return newAcknowledgements(written, process, own, changed, log), nil
}

func newAcknowledgements(
	in leases,
	process string,
	own func() map[string][]string,
	changed func(),
	log *slog.Logger,
) *Acknowledgements {
	return &Acknowledgements{
		leases: in, name: "limpet-serve-" + process, own: own, changed: changed, log: log,
		wake: make(chan struct{}, 1), others: map[string]otherProcess{},
	}
}

// Wake says that what this process's Envoys have acknowledged has changed.
func (a *Acknowledgements) Wake() { wake(a.wake) }

// Others gives what the Envoys of other processes have acknowledged, by their Gateway.
func (a *Acknowledgements) Others() map[string][]string {
	a.lock.Lock()
	defer a.lock.Unlock()
	all := map[string][]string{}
	for _, other := range a.others {
		if time.Since(other.seen) < staleAcknowledgements {
			for gateway, listeners := range other.acknowledged {
				all[gateway] = append(all[gateway], listeners...)
			}
		}
	}
	for _, listeners := range all {
		slices.Sort(listeners)
	}
	return all
}

// Publish keeps this process's Lease until ctx ends, and then deletes it.
func (a *Acknowledgements) Publish(ctx context.Context) {
	renew := time.NewTicker(renewAcknowledgements)
	defer renew.Stop()
	for ctx.Err() == nil {
		if err := a.write(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn(
				"what Envoys have acknowledged can't be told to other replicas, and is tried again",
				"lease",
				a.name,
				"reason",
				err,
			)
		}
		select {
		case <-ctx.Done():
		case <-renew.C:
		case <-a.wake:
			pause(ctx, tellAcknowledgements)
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), urgentAfter)
	defer stop()
	_ = a.leases.Delete(last, a.name, metav1.DeleteOptions{}) // it gets stale otherwise
}

func (a *Acknowledgements) write(ctx context.Context) error {
	text := a.format()
	now := metav1.NowMicro()
	lease, err := a.leases.Get(ctx, a.name, metav1.GetOptions{})
	isNew := apierrors.IsNotFound(err)
	switch {
	case isNew:
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: a.name, Labels: map[string]string{acknowledgementsLabel: "true", proxies.LabelManagedBy: madeByLimpet},
		}}
	case err != nil:
		return err
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[acknowledgementsAnnotation] = text
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &a.name, &now
	if isNew {
		_, err = a.leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: "limpet"})
	} else {
		_, err = a.leases.Update(ctx, lease, metav1.UpdateOptions{FieldManager: "limpet"})
	}
	return err
}

// format gives what this process's Envoys have acknowledged, as much of it as a Lease may hold.
func (a *Acknowledgements) format() string {
	own, reported, size := a.own(), map[string][]string{}, 0
	for _, gateway := range slices.Sorted(maps.Keys(own)) {
		size += len(gateway) + 16*len(own[gateway]) + 8
		if size > maxAcknowledgements {
			break
		}
		reported[gateway] = own[gateway]
	}
	text, _ := json.Marshal(reported) // which strings can be
	return string(text)
}

// Follow keeps up with what other processes tell until ctx ends.
func (a *Acknowledgements) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		different, err := a.readOthers(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			a.log.Warn("what Envoys of other replicas have acknowledged can't be read, and is tried again", "reason", err)
		}
		if different {
			a.changed()
		}
		pause(ctx, readAcknowledgements)
	}
}

// readOthers reads what other processes tell; true if something else counts now than before.
func (a *Acknowledgements) readOthers(ctx context.Context, now time.Time) (different bool, err error) {
	list, err := a.leases.List(ctx, metav1.ListOptions{LabelSelector: acknowledgementsLabel + "=true"})
	if err != nil {
		return false, err
	}
	a.lock.Lock()
	next := map[string]otherProcess{}
	var dead []string
	for i := range list.Items {
		l := &list.Items[i]
		if l.Name == a.name || l.Spec.RenewTime == nil {
			continue
		}
		was, known := a.others[l.Name]
		one := otherProcess{renewed: l.Spec.RenewTime.String(), seen: now}
		if known && was.renewed == one.renewed {
			one.seen = was.seen
		}
		if now.Sub(one.seen) > 10*staleAcknowledgements {
			dead = append(dead, l.Name)
			continue
		}
		if json.Unmarshal([]byte(l.Annotations[acknowledgementsAnnotation]), &one.acknowledged) == nil {
			next[l.Name] = one
		}
	}
	a.others = next
	a.lock.Unlock()
	for _, name := range dead {
		_ = a.leases.Delete(ctx, name, metav1.DeleteOptions{}) // another leader has, or will
	}
	before := a.read
	a.read = a.Others()
	return !maps.EqualFunc(before, a.read, slices.Equal), nil
}
