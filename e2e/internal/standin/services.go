package standin

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/limpet-proxy/limpet/e2e/internal/dns"
)

// services stand in for kube-proxy, a cluster's DNS and a cloud's load balancers: connections to an address of a
// Service go to one of its endpoints that are ready, in turn, and its name leads to it.
type services struct {
	client *kubernetes.Clientset
	names  *dns.Server

	given     map[string]string       // load balancers' addresses, by Services
	listeners map[string]net.Listener // by addresses and ports

	lock  sync.Mutex
	hosts map[string][]string // by addresses and ports
	turn  int
}

// follow does what the API server says until ctx ends.
func (s *services) follow(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		s.update(ctx)
	}
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

func (s *services) update(ctx context.Context) {
	endpoints, err := s.client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	all, err := s.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	ready, hosts := map[string][]string{}, map[string][]string{}
	for i := range endpoints.Items {
		collect(&endpoints.Items[i], ready)
	}
	for i := range all.Items {
		o := &all.Items[i]
		for _, address := range s.addresses(ctx, o) {
			for _, p := range o.Spec.Ports {
				if p.Protocol == corev1.ProtocolTCP {
					hosts[net.JoinHostPort(address, fmt.Sprint(p.Port))] = ready[o.Namespace+"/"+o.Name+"/"+p.Name]
				}
			}
		}
	}
	s.lock.Lock()
	s.hosts = hosts
	s.lock.Unlock()
	s.listen()
}

// collect adds the endpoints of a slice that are ready, by Services and names of ports.
func collect(slice *discoveryv1.EndpointSlice, to map[string][]string) {
	for _, p := range slice.Ports {
		if p.Port == nil || p.Name == nil {
			continue
		}
		key := slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName] + "/" + *p.Name
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				to[key] = append(to[key], net.JoinHostPort(e.Addresses[0], fmt.Sprint(*p.Port)))
			}
		}
		slices.Sort(to[key])
	}
}

// addresses gives those of a Service, which gets a load balancer's where it is to have one.
func (s *services) addresses(ctx context.Context, o *corev1.Service) (all []string) {
	key := o.Namespace + "/" + o.Name
	if at := o.Spec.ClusterIP; at != "" && at != corev1.ClusterIPNone && key != "default/kubernetes" {
		all = append(all, at)
		s.names.Set(o.Name+"."+o.Namespace+".svc", at)
		s.names.Set(o.Name+"."+o.Namespace+".svc.cluster.local", at)
	}
	if o.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return all
	}
	if s.given[key] == "" {
		s.given[key] = fmt.Sprintf("%s%d", balancers, len(s.given)+1)
	}
	if asked := o.Spec.LoadBalancerIP; asked != "" { // be it later
		s.given[key] = asked
	}
	if in := o.Status.LoadBalancer.Ingress; len(in) != 1 || in[0].IP != s.given[key] {
		o.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: s.given[key]}}
		_, _ = s.client.CoreV1().Services(o.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{}) // or next time
	}
	return append(all, s.given[key])
}

// listen listens at all addresses that there are, and no others.
func (s *services) listen() {
	for at, l := range s.listeners {
		if _, there := s.hosts[at]; !there {
			_ = l.Close()
			delete(s.listeners, at)
		}
	}
	for at := range s.hosts {
		if s.listeners[at] != nil {
			continue
		}
		if l, err := net.Listen("tcp", at); err == nil { // or next time
			s.listeners[at] = l
			go s.accept(l, at)
		}
	}
}

func (s *services) accept(l net.Listener, at string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go s.pass(client, at)
	}
}

// pass leads a connection to an endpoint, and stays with it.
func (s *services) pass(client net.Conn, at string) {
	defer func() { _ = client.Close() }()
	s.lock.Lock()
	hosts := s.hosts[at]
	s.turn++
	turn := s.turn
	s.lock.Unlock()
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
