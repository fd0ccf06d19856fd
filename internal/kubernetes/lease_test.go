package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaseStore has one lease, with versions as an API server keeps them.
type leaseStore struct {
	lock    sync.Mutex
	lease   *coordinationv1.Lease
	version int
}

func (s *leaseStore) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "limpet-serve")
	}
	return s.lease.DeepCopy(), nil
}

func (s *leaseStore) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lease != nil {
		return nil, apierrors.NewAlreadyExists(coordinationv1.Resource("leases"), l.Name)
	}
	return s.keep(l)
}

func (s *leaseStore) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lease == nil || l.ResourceVersion != s.lease.ResourceVersion {
		return nil, apierrors.NewConflict(coordinationv1.Resource("leases"), l.Name, errors.New("it is another by now"))
	}
	return s.keep(l)
}

func (s *leaseStore) keep(l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.version++
	s.lease = l.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	return s.lease.DeepCopy(), nil
}

// cutClient is a client whose connection is cut at times: a request waits until its context ends then, or fails at once. Or the answer
// comes late.
type cutClient struct {
	*leaseStore
	cut, refused, late atomic.Bool
}

func (c *cutClient) reach(ctx context.Context) error {
	time.Sleep(rand.N(50 * time.Millisecond)) //nolint:gosec // a way through a network
	switch {
	case c.refused.Load():
		return errors.New("connection refused")
	case c.cut.Load():
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (c *cutClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	return c.leaseStore.Get(ctx, name, o)
}

func (c *cutClient) Update(ctx context.Context, l *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	l, err := c.leaseStore.Update(ctx, l, o)
	if c.late.Load() {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(renewDeadline - time.Second):
		}
	}
	return l, err
}

// leaders counts who leads.
type leaders struct {
	sync.Mutex
	now  map[string]bool
	most int
}

func (l *leaders) task(name string) func(context.Context) {
	return func(ctx context.Context) {
		l.Lock()
		l.now[name] = true
		l.most = max(l.most, len(l.now))
		l.Unlock()
		<-ctx.Done()
		l.Lock()
		delete(l.now, name)
		l.Unlock()
	}
}

func (l *leaders) who() string {
	l.Lock()
	defer l.Unlock()
	for name := range l.now {
		return name
	}
	return ""
}

// start has a process be a candidate until it is stopped.
func (l *leaders) start(t *testing.T, store *leaseStore, name string) (client *cutClient, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client = &cutClient{leaseStore: store}
	c := &candidate{Lease: Lease{Namespace: "limpet-system", Name: "limpet-serve", Identity: name, Log: slog.New(slog.DiscardHandler)}, client: client}
	var running sync.WaitGroup
	running.Go(func() {
		for c.acquire(ctx) {
			c.lead(ctx, l.task(name))
		}
	})
	return client, func() { cancel(); running.Wait() }
}

// TestLease: of three processes one leads, at any time of a day on which their connections are cut, and each may end and come back.
// Whoever can't write leaves off before another begins; who ends is followed at once, who is gone without a word within 25 seconds.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, l := &leaseStore{}, &leaders{now: map[string]bool{}}
		clients, stops := map[string]*cutClient{}, map[string]func(){}
		names := []string{"a", "b", "c"}
		for _, name := range names {
			clients[name], stops[name] = l.start(t, store, name)
		}
		random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
		for change := range 2000 {
			time.Sleep(time.Duration(random.IntN(30)) * time.Second)
			name := names[random.IntN(len(names))]
			switch random.IntN(5) {
			case 0:
				clients[name].cut.Store(!clients[name].cut.Load())
			case 1:
				clients[name].refused.Store(!clients[name].refused.Load())
			case 2:
				clients[name].late.Store(!clients[name].late.Load())
			case 3:
				stops[name]()
				clients[name], stops[name] = l.start(t, store, fmt.Sprintf("%s%d", name[:1], change))
			}
		}
		if l.most != 1 {
			t.Errorf("%d processes have led at once", l.most)
		}
		for _, name := range names {
			clients[name].cut.Store(false)
			clients[name].refused.Store(false)
			clients[name].late.Store(false)
		}
		time.Sleep(time.Minute)
		first := l.who()
		stops[first[:1]]()
		time.Sleep(5 * time.Second)
		second := l.who()
		if second == "" || second == first {
			t.Fatalf("%s has ended, and after 5 seconds %q leads", first, second)
		}
		clients[second[:1]].refused.Store(true)
		time.Sleep(25 * time.Second)
		if third := l.who(); third == "" || third == second {
			t.Errorf("%s is cut off, and after 25 seconds %q leads", second, third)
		}
		if n := *store.lease.Spec.LeaseTransitions; n < 50 {
			t.Errorf("the lease has had %d new holders in a day of faults", n)
		}
		for _, stop := range stops {
			stop()
		}
	})
}
