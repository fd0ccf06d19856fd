package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/limpet-proxy/limpet/compiler"
)

// nodes are the machines of the cluster, and which Pods are on their network. The source's lock guards it.
type nodes struct {
	// server is where the client finds the API server.
	server netip.AddrPort
	// machines and guests follow Nodes, and the Pods on their network.
	machines, hostNetworkPods cache.SharedIndexInformer
	// stale says that something has changed since now was made.
	stale bool
	now   *compiler.Nodes
}

// hostAddresses is what is kept of a Node, or of a Pod on its network.
type hostAddresses struct {
	metav1.ObjectMeta
	at []netip.Addr
}

// The API server's own Service, and the slice that API servers keep of themselves.
const (
	apiServerService = "Service/default/kubernetes"
	apiServerSlice   = "EndpointSlice/default/kubernetes"
)

// onHostNetwork selects Pods that run on their node's network.
const onHostNetwork = "spec.hostNetwork=true,status.phase!=Succeeded,status.phase!=Failed"

// hostLists are what machines and guests are lists of.
var hostLists = [2]struct {
	resource schema.GroupVersionResource
	fields   string
}{{machines, ""}, {pods, onHostNetwork}}

// isUnseen tells whether the caller can't list these: it may not, or the API server is too old to select by fields.
func isUnseen(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) }

// note says that an object has changed.
func (n *nodes) note(name string) {
	n.stale = n.stale || name == apiServerService || name == apiServerSlice
}

// ServeAt sets where the client finds the API server; call it before Start. A DNS name is ignored: endpoints have
// addresses.
func (s *Source) ServeAt(host string) { s.nodes.server = parseServer(host) }

// parseServer gives the address of a client's API server, if it has one.
func parseServer(host string) (server netip.AddrPort) {
	url, _, err := rest.DefaultServerUrlFor(&rest.Config{Host: host})
	if err != nil {
		return server
	}
	port := cmp.Or(url.Port(), map[string]string{"http": "80", "https": "443"}[url.Scheme])
	if at, err := netip.ParseAddrPort(net.JoinHostPort(url.Hostname(), port)); err == nil {
		server = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	return server
}

// followNodes follows nodes and the Pods on their network. Without the right to list them, none are known.
func (s *Source) followNodes(ctx context.Context) error {
	var refused [2]atomic.Bool
	var informers [2]cache.SharedIndexInformer
	for i, of := range hostLists {
		informer := s.newInformer(of.resource, of.fields, "", func(err error) { refused[i].Store(isUnseen(err)) })
		_ = informer.SetTransform(reduceHost) // fails only once it runs
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { s.noteNodes() }, DeleteFunc: func(any) { s.noteNodes() },
			UpdateFunc: func(before, now any) {
				if !slices.Equal(before.(*hostAddresses).at, now.(*hostAddresses).at) {
					s.noteNodes()
				}
			},
		})
		if err != nil {
			return err
		}
		go informer.RunWithContext(ctx)
		informers[i] = informer
	}
	s.lock.Lock()
	s.nodes.machines, s.nodes.hostNetworkPods, s.nodes.stale = informers[0], informers[1], true
	s.lock.Unlock()
	isKnown := func(i int) cache.InformerSynced {
		return func() bool { return informers[i].HasSynced() || refused[i].Load() }
	}
	if !cache.WaitForCacheSync(ctx.Done(), isKnown(0), isKnown(1)) {
		return context.Cause(ctx)
	}
	return nil
}

func (s *Source) noteNodes() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.nodes.stale = true
	s.noteChange()
}

// reduceHost keeps only the addresses of a Node or Pod.
func reduceHost(sent any) (any, error) {
	u, whole := sent.(*unstructured.Unstructured)
	if !whole {
		return sent, nil
	}
	o := &hostAddresses{ObjectMeta: describeState(u)}
	for field, name := range map[string]string{"addresses": "address", "podIPs": "ip"} {
		list, _, _ := unstructured.NestedSlice(u.Object, "status", field)
		for _, one := range list {
			fields, _ := one.(map[string]any)
			text, _ := fields[name].(string)
			o.add(text)
		}
	}
	return o, nil
}

// add adds an address. It leaves out those of the loopback, which every machine has.
func (o *hostAddresses) add(text string) {
	if at, err := netip.ParseAddr(text); err == nil && !at.IsLoopback() && !slices.Contains(o.at, at.Unmap()) {
		o.at = append(o.at, at.Unmap())
	}
}

// Nodes are the machines of the cluster, and who has Pods on their network. The pointer is the same as long as nothing
// changes.
func (s *Source) Nodes() *compiler.Nodes {
	s.lock.Lock()
	defer s.lock.Unlock()
	n := &s.nodes
	if !n.stale {
		return n.now
	}
	var machines, hostNetworkPods []any
	if n.machines != nil && n.machines.HasSynced() && n.hostNetworkPods.HasSynced() {
		n.stale = false
		machines, hostNetworkPods = n.machines.GetStore().List(), n.hostNetworkPods.GetStore().List()
	}
	now := newNodes(listAPIServers(n.server, s.objects), machines, hostNetworkPods)
	if n.now == nil || !reflect.DeepEqual(n.now, now) {
		n.now = now
	}
	return n.now
}

// newNodes makes Nodes of API servers, of machines, and of the Pods on their network.
func newNodes(servers []netip.AddrPort, machines, hostNetworkPods []any) *compiler.Nodes {
	nodes := &compiler.Nodes{APIServers: servers, Pods: map[netip.Addr][]string{}}
	for _, at := range servers {
		if !at.Addr().IsLoopback() {
			nodes.Pods[at.Addr()] = nil
		}
	}
	visitHosts(machines, func(_ string, at netip.Addr) { nodes.Pods[at] = nil })
	visitHosts(hostNetworkPods, func(namespace string, at netip.Addr) {
		if namespaces, is := nodes.Pods[at]; is {
			nodes.Pods[at] = append(namespaces, namespace)
		}
	})
	for at, namespaces := range nodes.Pods {
		slices.Sort(namespaces)
		nodes.Pods[at] = slices.Compact(namespaces)
	}
	return nodes
}

func visitHosts(all []any, visit func(namespace string, at netip.Addr)) {
	for _, one := range all {
		if o, is := one.(*hostAddresses); is {
			for _, at := range o.at {
				visit(o.Namespace, at)
			}
		}
	}
}

// listAPIServers lists where API servers listen: the client's own, their Service's, and those of their EndpointSlice.
func listAPIServers(server netip.AddrPort, objects map[string]*object) (all []netip.AddrPort) {
	if server.IsValid() {
		all = append(all, server)
	}
	add := func(text string, port int32) {
		if at, err := netip.ParseAddr(text); err == nil {
			all = append(all, netip.AddrPortFrom(at.Unmap(), uint16(port))) //nolint:gosec // the API takes no other
		}
	}
	service, slice := &corev1.Service{}, &discoveryv1.EndpointSlice{}
	if o := objects[apiServerService]; o != nil && json.Unmarshal(o.text, service) == nil {
		for _, p := range service.Spec.Ports {
			for _, at := range service.Spec.ClusterIPs {
				add(at, p.Port)
			}
		}
	}
	if o := objects[apiServerSlice]; o != nil && json.Unmarshal(o.text, slice) == nil {
		for _, p := range slice.Ports {
			for _, e := range slice.Endpoints {
				for _, at := range e.Addresses {
					if p.Port != nil {
						add(at, *p.Port)
					}
				}
			}
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}
