package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Balancer stands in for a cloud's load balancers: each Service of the type gets an address, at which connections go to one of its
// endpoints that are ready, in turn.
type Balancer struct {
	client *kubernetes.Clientset
	prefix string

	lock  sync.Mutex
	given map[string]string              // addresses, by Services
	ports map[string]net.Listener        // by addresses and ports
	ready map[string]map[string][]string // hosts, by Services and names of ports
	turn  int
}

// StartBalancer starts one whose addresses begin with a prefix such as 10.244.200., all of which are this machine's.
func StartBalancer(t testing.TB, config *rest.Config, prefix string) *Balancer {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	b := &Balancer{
		client: client, prefix: prefix, given: map[string]string{}, ports: map[string]net.Listener{}, ready: map[string]map[string][]string{},
	}
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			b.look(ctx)
		}
	})
	t.Cleanup(func() {
		stop()
		group.Wait()
		for _, l := range b.ports {
			_ = l.Close()
		}
	})
	return b
}

func (b *Balancer) look(ctx context.Context) {
	slices, err := b.client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	ready := map[string]map[string][]string{}
	for i := range slices.Items {
		collect(&slices.Items[i], ready)
	}
	b.lock.Lock()
	b.ready = ready
	b.lock.Unlock()
	services, err := b.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range services.Items {
		if s := &services.Items[i]; s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			b.serve(ctx, s)
		}
	}
}

// collect adds the endpoints of a slice that are ready.
func collect(slice *discoveryv1.EndpointSlice, to map[string]map[string][]string) {
	service := slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
	if to[service] == nil {
		to[service] = map[string][]string{}
	}
	for _, p := range slice.Ports {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready && p.Port != nil {
				to[service][*p.Name] = append(to[service][*p.Name], net.JoinHostPort(e.Addresses[0], fmt.Sprint(*p.Port)))
			}
		}
	}
}

// serve gives a Service its address, and listens there.
func (b *Balancer) serve(ctx context.Context, s *corev1.Service) {
	key := s.Namespace + "/" + s.Name
	if b.given[key] == "" {
		b.given[key] = fmt.Sprintf("%s%d", b.prefix, len(b.given)+1)
		if s.Spec.LoadBalancerIP != "" {
			b.given[key] = s.Spec.LoadBalancerIP
		}
	}
	if len(s.Status.LoadBalancer.Ingress) == 0 {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: b.given[key]}}
		_, _ = b.client.CoreV1().Services(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{}) // or next time
	}
	for _, p := range s.Spec.Ports {
		at := net.JoinHostPort(b.given[key], fmt.Sprint(p.Port))
		if p.Protocol != corev1.ProtocolTCP || b.ports[at] != nil {
			continue
		}
		listener, err := net.Listen("tcp", at)
		if err != nil {
			continue
		}
		b.ports[at] = listener
		go b.accept(listener, key, p.Name)
	}
}

func (b *Balancer) accept(listener net.Listener, service, port string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go b.pass(client, service, port)
	}
}

// pass leads a connection to an endpoint, and stays with it.
func (b *Balancer) pass(client net.Conn, service, port string) {
	defer func() { _ = client.Close() }()
	b.lock.Lock()
	hosts := b.ready[service][port]
	slices.Sort(hosts)
	b.turn++
	turn := b.turn
	b.lock.Unlock()
	if len(hosts) == 0 {
		return
	}
	server, err := net.DialTimeout("tcp", hosts[turn%len(hosts)], time.Second)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}
