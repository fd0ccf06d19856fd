package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// Image is what a container image stands for.
type Image struct {
	// Files are files of this machine, by their paths in the container.
	Files map[string]string
	// Entrypoint is what a container runs without a command.
	Entrypoint []string
}

// Node is a node with its Pods.
type Node struct {
	Name string
	// Images are what containers may have, by their names.
	Images map[string]Image

	client *kubernetes.Clientset
	folder string
	t      testing.TB

	lock sync.Mutex
	pods map[types.UID]*pod
	ips  int
	all  sync.WaitGroup
}

// The network of Pods: this machine has the first address of it.
const (
	bridge = "pods0"
	// A bridge without a hardware address of its own has the lowest one of its ports: Pods that come and go would change it, and others'
	// packets went to the former one until they asked anew, which looks like a proxy that hangs.
	hardware = "02:00:0a:f5:00:01"
	gateway  = "10.245.0.1"
	network  = "10.245."
)

// Address is where Pods reach this machine.
const Address = gateway

// Start makes a node, whose Pods know machines by names, and which runs Pods that are bound to it until the test ends. The test must be
// root, in a network namespace of its own.
func Start(t testing.TB, config *rest.Config, name string, images map[string]Image, names map[string][]string) *Node {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Name: name, Images: images, client: client, folder: t.TempDir(), t: t, pods: map[types.UID]*pod{}}
	if _, err := net.InterfaceByName(bridge); err != nil {
		run(t, "ip link add %s address %s type bridge", bridge, hardware)
		run(t, "ip addr add %s/16 dev %s", gateway, bridge)
		run(t, "ip link set %s up", bridge)
	}
	harness.StartDNSAt(t, gateway+":53", names)
	n.register(t)
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { n.follow(ctx) })
	t.Cleanup(func() {
		stop()
		loops.Wait()
		n.killAll()
		n.all.Wait()
	})
	return n
}

func run(t testing.TB, format string, args ...any) {
	t.Helper()
	command := strings.Fields(fmt.Sprintf(format, args...))
	if text, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, text)
	}
}

// register makes the Node object, which is ready.
func (n *Node) register(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, Labels: map[string]string{corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux"},
	}}
	made, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = n.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	made.Status = corev1.NodeStatus{
		Capacity: room, Allocatable: room, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: gateway}},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Ready", LastHeartbeatTime: metav1.Now(),
		}},
	}
	if made, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	made.Spec.Taints = nil // no controller of nodes runs here, which takes away the one of new nodes
	if _, err := n.client.CoreV1().Nodes().Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.client.CoreV1().Nodes().Delete(context.Background(), n.Name, metav1.DeleteOptions{}) })
}

// follow starts and ends Pods as the API server says.
func (n *Node) follow(ctx context.Context) {
	mine := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", n.Name).String()}
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		list, err := n.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, mine)
		if err != nil {
			continue
		}
		for i := range list.Items {
			n.take(&list.Items[i])
		}
	}
}

// take starts a Pod that is new, and ends one that is to be deleted.
func (n *Node) take(o *corev1.Pod) {
	n.lock.Lock()
	defer n.lock.Unlock()
	p := n.pods[o.UID]
	if p == nil && o.DeletionTimestamp == nil {
		n.ips++
		p = &pod{
			node: n, object: o.DeepCopy(), ip: fmt.Sprintf("%s%d.%d", network, 1+n.ips/250, 2+n.ips%250), index: n.ips,
			leave: make(chan time.Duration, 1), files: map[string]string{},
		}
		n.pods[o.UID] = p
		n.all.Go(p.live)
	}
	if p == nil { // it ended before it began
		p = &pod{node: n, object: o}
		n.pods[o.UID] = p
		n.all.Go(p.forget)
	}
	if o.DeletionTimestamp != nil && p.leave != nil && !p.leaving {
		p.leaving = true
		grace := int64(30)
		if o.DeletionGracePeriodSeconds != nil {
			grace = *o.DeletionGracePeriodSeconds
		}
		p.leave <- time.Duration(grace) * time.Second
	}
}

// killAll ends what still runs.
func (n *Node) killAll() {
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, p := range n.pods {
		if p.leave != nil && !p.leaving {
			p.leaving = true
			p.leave <- 0
		}
	}
}

// Crash kills the first container's process of a Pod (SIGKILL), which is started again.
func (n *Node) Crash(t testing.TB, namespace, name string) {
	t.Helper()
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, p := range n.pods {
		if p.object.Namespace == namespace && p.object.Name == name && p.process != nil {
			if err := p.process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("there is no Pod %s/%s", namespace, name)
}

// Logs gives what all Pods have said, for a test that has failed.
func (n *Node) Logs() string {
	n.lock.Lock()
	defer n.lock.Unlock()
	var all strings.Builder
	for _, p := range n.pods {
		text, _ := os.ReadFile(p.log)
		fmt.Fprintf(&all, "--- %s (%s)\n%s\n", p.object.Name, p.ip, text[max(0, len(text)-3000):])
	}
	return all.String()
}
