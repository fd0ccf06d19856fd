package kubernetes

import (
	"context"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lease is what the processes that do the same agree by on which of them writes statuses.
type Lease struct {
	Config          *rest.Config
	Namespace, Name string
	// Identity is this process.
	Identity string
	Log      *slog.Logger
}

// The times of a lease: a leader that is gone without a word is followed by another after so long.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// Run runs a task whenever this process leads, until ctx ends. The task ends when its context does.
func (l Lease) Run(ctx context.Context, task func(context.Context)) error {
	client, err := coordinationv1.NewForConfig(l.Config)
	if err != nil {
		return err
	}
	var running sync.Mutex
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
				Client:     client,
				LockConfig: resourcelock.ResourceLockConfig{Identity: l.Identity},
			},
			LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					running.Lock() // a task of before may be about to end
					defer running.Unlock()
					l.Log.Info("this process writes statuses now", "lease", l.Namespace+"/"+l.Name)
					task(ctx)
				},
				OnStoppedLeading: func() { l.Log.Info("this process does not write statuses") },
			},
		})
		if err != nil {
			return err
		}
		elector.Run(ctx)
	}
	return nil
}
