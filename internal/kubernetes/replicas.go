package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// ReplicaLabels are those of the Pods of limpet serve, as the chart gives them.
const ReplicaLabels = "app.kubernetes.io/name=limpet,app.kubernetes.io/component=controller"

// Replica is a Pod that runs limpet serve.
type Replica struct{ Namespace, Name string }

func (r Replica) String() string { return r.Namespace + "/" + r.Name }

// Replicas are the Pods of limpet serve in a cluster, which are asked through the API server, with the rights of
// whoever asks.
type Replicas struct {
	Config *rest.Config
	// Port is that of their --admin.
	Port int
	// Namespace is the one in which they are. Pods of other namespaces are not asked: anybody can give theirs such labels.
	Namespace string
}

// List gives the replicas that run, in the order of their names.
func (r *Replicas) List(ctx context.Context) (all []Replica, err error) {
	client, err := newPods(r.Config, r.Namespace)
	if err != nil {
		return nil, err
	}
	pods, err := client.List(ctx, metav1.ListOptions{LabelSelector: ReplicaLabels})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf(
			"the right to list pods in the namespace %s is needed, to find limpet serve: %w",
			r.Namespace,
			err,
		)
	}
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			all = append(all, Replica{p.Namespace, p.Name})
		}
	}
	slices.SortFunc(all, func(a, b Replica) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}
