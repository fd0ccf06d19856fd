package standin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/limpet-proxy/limpet/e2e/internal/dns"
)

// nodeName is the Node's.
const nodeName = "node-1"

// Node is a node with its Pods.
type Node struct {
	images map[string]Image
	client *kubernetes.Clientset
	folder string
	server *httptest.Server
	names  *dns.Server
	stop   context.CancelFunc
	loops  sync.WaitGroup

	lock sync.Mutex
	pods map[types.UID]*pod
	ips  int
	all  sync.WaitGroup
}

// StartNode makes a node, which runs Pods that are bound to it. Images are those that containers may have, by the last
// part of their names without a tag, and names are what Pods find besides Services, with their addresses.
func (p *Plane) StartNode(images map[string]Image, names map[string][]string) (*Node, error) {
	n := &Node{images: images, client: p.Client, folder: p.Folder, pods: map[types.UID]*pod{}}
	var err error
	if n.names, err = dns.Start(Address+":53", names); err != nil {
		return nil, err
	}
	at, err := net.Listen("tcp", Address+":0")
	if err != nil {
		return nil, err
	}
	n.server = httptest.NewUnstartedServer(http.HandlerFunc(n.answer))
	_ = n.server.Listener.Close()
	n.server.Listener = at
	n.server.StartTLS()
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	if err := n.register(ctx, int32(at.Addr().(*net.TCPAddr).Port)); err != nil {
		return nil, err
	}
	s := &services{client: n.client, names: n.names, given: map[string]string{}, listeners: map[string]net.Listener{}}
	n.loops.Go(func() { s.follow(ctx) })
	n.loops.Go(func() { n.follow(ctx) })
	return n, nil
}

// Stop ends all Pods, and takes the Node away.
func (n *Node) Stop() {
	n.stop()
	n.loops.Wait()
	n.killAll()
	n.all.Wait()
	n.server.Close()
	n.names.Stop()
	_ = n.client.CoreV1().Nodes().Delete(context.Background(), nodeName, metav1.DeleteOptions{})
}

// register makes the Node object, which is ready.
func (n *Node) register(ctx context.Context, port int32) error {
	nodes := n.client.CoreV1().Nodes()
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nodeName, Labels: map[string]string{corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux"},
	}}
	if _, err := nodes.Create(ctx, made, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1000Gi"),
		corev1.ResourcePods: resource.MustParse("10000"),
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write it, too
		o, err := nodes.Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		o.Spec.Taints = nil // no controller of nodes runs here, which takes away the one of new nodes
		if o, err = nodes.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
			return err
		}
		o.Status = corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: Address}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Ready", LastHeartbeatTime: metav1.Now(),
			}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
		}
		_, err = nodes.UpdateStatus(ctx, o, metav1.UpdateOptions{})
		return err
	})
}

// follow starts and ends Pods as the API server says.
func (n *Node) follow(ctx context.Context) {
	mine := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", nodeName).String()}
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
	if p == nil {
		n.ips++
		p = &pod{
			node: n, object: o.DeepCopy(), ip: fmt.Sprintf("%s%d.%d", podNetwork, 1+n.ips/250, 2+n.ips%250), index: n.ips,
			log: podLog{path: filepath.Join(n.folder, fmt.Sprintf("%d-%s.log", n.ips, o.Name))}, files: map[string]string{},
		}
		n.pods[o.UID] = p
		if o.DeletionTimestamp != nil { // it ended before it began
			n.all.Go(p.forget)
			return
		}
		p.leave = make(chan time.Duration, 1)
		n.all.Go(p.live)
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

// image gives what a container's image stands for.
func (n *Node) image(name string) (Image, error) {
	name, _, _ = strings.Cut(name, "@")
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	image, known := n.images[name]
	if !known {
		return image, fmt.Errorf("there is no image %q", name)
	}
	return image, nil
}
