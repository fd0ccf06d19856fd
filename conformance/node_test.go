package conformance

// The node of a real cluster: a stand-in for its kubelet starts the suite's echo servers as processes for the Pods that the real
// scheduler has put there, and reports them.

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeName and nodeAddress are the node's; its pods are in podNetwork.
const (
	nodeName    = "node"
	nodeAddress = "10.244.255.1"
	podNetwork  = "10.244."
)

// node is a kubelet's stand-in.
type node struct {
	*kubelet
	c      client.Client
	logsAt *httptest.Server
}

// newNode makes a node that is ready, and runs what is put there until ctx ends.
func newNode(ctx context.Context, t *testing.T, c client.Client, echo, out string) *node {
	n := &node{kubelet: newKubelet(echo, out), c: c}
	at, err := net.Listen("tcp", nodeAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	n.logsAt = httptest.NewUnstartedServer(http.HandlerFunc(n.answer))
	n.logsAt.Listener = at
	n.logsAt.StartTLS()
	if err := n.register(ctx, int32(at.Addr().(*net.TCPAddr).Port)); err != nil {
		t.Fatal(err)
	}
	go func() {
		for ctx.Err() == nil {
			n.look(ctx)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return n
}

// register makes the Node, ready from the start.
func (n *node) register(ctx context.Context, port int32) error {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{"kubernetes.io/hostname": nodeName}}}
	if err := n.c.Create(ctx, o); err != nil {
		return err
	}
	edit := func(change func(), write func(context.Context, client.Object) error) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write it, too
			if err := n.c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			change()
			return write(ctx, o)
		})
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1000Gi"), corev1.ResourcePods: resource.MustParse("10000"),
	}
	err := edit(func() {
		o.Status = corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions:      []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "StandIn"}},
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
		}
	}, func(ctx context.Context, o client.Object) error { return n.c.Status().Update(ctx, o) })
	if err != nil {
		return err
	}
	// admission adds a taint, which the controller would take away that is not here
	return edit(func() { o.Spec.Taints = nil }, func(ctx context.Context, o client.Object) error { return n.c.Update(ctx, o) })
}

// answer answers the API server, which asks for logs alone.
func (n *node) answer(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 4 || parts[0] != "containerLogs" {
		http.Error(w, "the harness has logs only", http.StatusNotFound)
		return
	}
	n.writeLog(w, r, parts[1]+"/"+parts[2])
}

// look starts and ends what the Pods on the node ask for.
func (n *node) look(ctx context.Context) {
	var pods corev1.PodList
	if err := n.c.List(ctx, &pods); err != nil {
		return
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		switch {
		case p.Spec.NodeName != nodeName:
		case p.DeletionTimestamp != nil:
			n.end(p.Namespace + "/" + p.Name)
			_ = n.c.Delete(ctx, p, client.GracePeriodSeconds(0))
		case p.Status.Phase == corev1.PodPending:
			if err := n.begin(ctx, p); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
				fmt.Println("harness: pod", p.Namespace, p.Name, err)
			}
		}
	}
}

// begin starts a Pod's process and reports it ready.
func (n *node) begin(ctx context.Context, p *corev1.Pod) error {
	running, err := n.start(ctx, n.c, p.Namespace, p.Name, p.Spec)
	if err != nil {
		return err
	}
	now := metav1.Now()
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
	p.Status.PodIP, p.Status.PodIPs = running.ip, []corev1.PodIP{{IP: running.ip}}
	p.Status.HostIP, p.Status.HostIPs = nodeAddress, []corev1.HostIP{{IP: nodeAddress}}
	p.Status.Conditions = nil
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodScheduled, corev1.ContainersReady, corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return n.c.Status().Update(ctx, p)
}
