package kubernetes

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Lease lets replicas agree which one of them writes statuses. Each writes its name and the time into one object of the
// API server, and takes over what another has not written for leaseDuration by its own clock. It is client-go's
// leaderelection in its plainest form: the package itself brings all of client-go's informers, a quarter of the time of
// a first build.
type Lease struct {
	Config          *rest.Config
	Namespace, Name string
	// Identity is this process.
	Identity string
	Log      *slog.Logger
}

// The times of a lease: a leader that is gone without a word is followed by another after so long. A leader that can't
// write for renewDeadline ends its task before another may begin.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// Run runs a task whenever this process leads, until ctx ends. The task ends when its context does.
func (l Lease) Run(ctx context.Context, task func(context.Context)) error {
	client, err := newLeases(l.Config, l.Namespace)
	if err != nil {
		return err
	}
	c := &candidate{Lease: l, client: client}
	for c.acquire(ctx) {
		c.lead(ctx, task)
	}
	return nil
}

// leaseClient is of an API server's client what a candidate needs.
type leaseClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

// candidate is a process that leads, or would.
type candidate struct {
	Lease
	client leaseClient
	// version is the object's resourceVersion as it was last seen, and since is when it was first seen: only this
	// process's clock is trusted.
	version  string
	since    time.Time
	wrote    time.Time // when the last write of this process began that the API server took
	reported string    // of the last failure
}

// acquire waits until this process leads; false when ctx has ended before.
func (c *candidate) acquire(ctx context.Context) bool {
	for ctx.Err() == nil {
		leads, err := c.try(ctx, time.Now().Add(renewDeadline))
		if leads {
			return true
		}
		c.tell(ctx, err)
		pause(ctx, retryPeriod+rand.N(retryPeriod)) //nolint:gosec // candidates do not come all at once
	}
	return false
}

// lead runs the task for as long as this process leads, and gives the lease up when ctx ends.
func (c *candidate) lead(ctx context.Context, task func(context.Context)) {
	c.Log.Info("this process writes statuses now", "lease", c.Namespace+"/"+c.Name)
	leading, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		task(leading)
	}()
	c.renew(ctx)
	stop()
	<-ended
	c.Log.Info("this process does not write statuses")
	if ctx.Err() != nil {
		c.release(context.WithoutCancel(ctx))
	}
}

// renew returns when this process leads no more.
func (c *candidate) renew(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, retryPeriod)
		leads, err := c.try(ctx, c.wrote.Add(renewDeadline))
		c.tell(ctx, err)
		if !leads && (err == nil || time.Since(c.wrote) >= renewDeadline) {
			return
		}
	}
}

// tell tells of a failure once, until there is another or none.
func (c *candidate) tell(ctx context.Context, err error) {
	words := ""
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		words = err.Error()
	}
	if words != "" && words != c.reported && ctx.Err() == nil {
		c.Log.Warn("the lease can't be read or written: it is tried again", "lease", c.Namespace+"/"+c.Name, "reason", words)
	}
	c.reported = words
}

// try takes the lease, or renews it, until end. It returns false without an error where another process has it.
func (c *candidate) try(ctx context.Context, end time.Time) (leads bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	began := time.Now()
	lease, err := c.client.Get(ctx, c.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
		c.sign(lease)
		lease, err = c.client.Create(ctx, lease, metav1.CreateOptions{})
		return c.written(lease, began, err)
	}
	if err != nil {
		return false, err
	}
	if lease.ResourceVersion != c.version {
		c.version, c.since = lease.ResourceVersion, began
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" && *holder != c.Identity &&
		time.Since(c.since) < leaseDuration {
		return false, nil
	}
	c.sign(lease)
	lease, err = c.client.Update(ctx, lease, metav1.UpdateOptions{})
	return c.written(lease, began, err)
}

// written notes the result of a write. A conflict is an error: the next read says who leads.
func (c *candidate) written(lease *coordinationv1.Lease, began time.Time, err error) (leads bool, _ error) {
	if err != nil {
		return false, err
	}
	c.version, c.since, c.wrote = lease.ResourceVersion, began, began
	return true, nil
}

// sign writes this process and the time into a lease.
func (c *candidate) sign(lease *coordinationv1.Lease) {
	now, spec := metav1.NewMicroTime(time.Now()), &lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity != c.Identity {
		transitions := int32(0)
		if spec.LeaseTransitions != nil {
			transitions = *spec.LeaseTransitions + 1
		}
		spec.LeaseTransitions, spec.AcquireTime = &transitions, &now
	}
	spec.HolderIdentity, spec.RenewTime = &c.Identity, &now
	spec.LeaseDurationSeconds = new(int32(leaseDuration / time.Second))
}

// release lets another lead at once.
func (c *candidate) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, renewDeadline)
	defer cancel()
	lease, err := c.client.Get(ctx, c.Name, metav1.GetOptions{})
	if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == c.Identity {
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new(""), new(int32(1))
		_, err = c.client.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		c.Log.Warn("the lease can't be given up: another process takes it over when it has run out",
			"lease", c.Namespace+"/"+c.Name, "reason", err)
	}
}
