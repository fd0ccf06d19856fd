package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/proxies"
)

// managedGateway is a Gateway of a class of limpet's.
type managedGateway struct {
	*gatewayv1.Gateway
	class *gatewayv1.GatewayClass
	// managed is false where others run the proxies.
	managed bool
}

func (g *managedGateway) key() string { return g.Namespace + "/" + g.Name }

// isManaged tells whether limpet runs the proxies of a Gateway.
func isManaged(annotations map[string]string) bool {
	return annotations[v1alpha1.AnnotationManaged] != "false"
}

// listGateways returns the Gateways of limpet's classes.
func (p *Proxies) listGateways() (all []*managedGateway) {
	classes := p.Source.listClasses(p.Controller)
	for _, o := range p.Source.listKind(gatewayKind) {
		g := &gatewayv1.Gateway{}
		if json.Unmarshal(o.text, g) != nil || classes[string(g.Spec.GatewayClassName)] == nil || g.DeletionTimestamp != nil {
			continue
		}
		g.Spec.Addresses = o.addresses
		all = append(all, &managedGateway{g, classes[string(g.Spec.GatewayClassName)], isManaged(g.Annotations)})
	}
	return all
}

// States returns the state of each managed Gateway's proxies, by the Gateway's key, and errors in the parameters of
// classes, by the class's name.
func (p *Proxies) States() (states map[string]compiler.Proxies, classes map[string]string) {
	states, classes = map[string]compiler.Proxies{}, map[string]string{}
	for _, g := range p.listGateways() {
		if ref := g.class.Spec.ParametersRef; ref != nil && ref.Namespace != nil {
			if _, err := p.findProxyConfig(string(*ref.Namespace), ref.Name); err != nil {
				classes[g.class.Name] = err.Error()
			}
		}
		if g.managed {
			states[g.key()] = p.stateOf(g)
		}
	}
	return states, classes
}

func (p *Proxies) stateOf(g *managedGateway) (s compiler.Proxies) {
	p.lock.Lock()
	failure := p.failures[g.key()]
	p.lock.Unlock()
	s.LeftOut = p.Allowed.LeftOut(g.Gateway)
	if err := p.checkAccount(g); err != nil {
		s.Invalid = err.Error()
	}
	if of := g.Spec.Infrastructure; of != nil && of.ParametersRef != nil {
		if _, err := p.findProxyConfig(g.Namespace, of.ParametersRef.Name); err != nil {
			s.Invalid = err.Error()
		}
	}
	name, owned := proxies.Name(g.Name, string(g.Spec.GatewayClassName)), p.listOwned(g)
	service := owned.findService(name)
	if service != nil {
		s.Addresses = p.listAddresses(service)
	}
	ready := int64(0)
	for _, o := range owned {
		ready += countReady(o)
	}
	switch {
	case ready == 0 && failure != "":
		s.Reason, s.Message = gatewayv1.GatewayReasonNoResources, failure
	case service == nil || len(s.Addresses) == 0:
		s.Reason, s.Message = gatewayv1.GatewayReasonAddressNotAssigned, fmt.Sprintf("Service %s has no address yet", name)
	case isMissing(g.Spec.Addresses, s.Addresses):
		s.Reason = gatewayv1.GatewayReasonAddressNotUsable
		s.Message = fmt.Sprintf("Service %s has not got the addresses that spec.addresses names", name)
	case ready == 0:
		s.Reason, s.Message = gatewayv1.GatewayReasonNoResources, "no proxy is ready"
	}
	return s
}

// Telemetry is the access log and the tracing that a Gateway's ProxyConfigs ask for.
func (p *Proxies) Telemetry(gateway string) (s compiler.Telemetry) {
	namespace, name, _ := strings.Cut(gateway, "/")
	o, _, err := p.Source.findObject(gatewayKind, namespace, name)
	if err != nil || !o.run {
		return s
	}
	g := &gatewayv1.Gateway{}
	if json.Unmarshal(o.text, g) != nil {
		return s
	}
	c := &gatewayv1.GatewayClass{}
	if of, _, err := p.Source.findObject(classKind, "", string(g.Spec.GatewayClassName)); err != nil ||
		json.Unmarshal(of.text, c) != nil {
		return s
	}
	config, err := p.findConfig(&managedGateway{Gateway: g, class: c, managed: true})
	if err != nil {
		return s
	}
	if config.AccessLog != nil {
		s.AccessLog = &config.AccessLog.Enabled
	}
	if t := config.Tracing; t != nil {
		s.Tracing, s.SamplingPercent = true, 1
		if t.SamplingPercent != nil {
			s.SamplingPercent = *t.SamplingPercent
		}
	}
	return s
}

// isMissing tells whether some wanted address is not assigned.
func isMissing(wanted []gatewayv1.GatewaySpecAddress, are []gatewayv1.GatewayStatusAddress) bool {
	return slices.ContainsFunc(wanted, func(w gatewayv1.GatewaySpecAddress) bool {
		return w.Value != "" &&
			!slices.ContainsFunc(are, func(is gatewayv1.GatewayStatusAddress) bool { return is.Value == w.Value })
	})
}

func (owned ownedObjects) findService(name string) *corev1.Service {
	o := owned["Service/"+name]
	if o == nil {
		return nil
	}
	s := &corev1.Service{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s) != nil {
		return nil
	}
	return s
}

// maxAddresses is how many addresses a status may have.
const maxAddresses = 16

// listAddresses returns where a Service is reached: at its load balancer, at the nodes, or within the cluster.
func (p *Proxies) listAddresses(s *corev1.Service) (all []gatewayv1.GatewayStatusAddress) {
	add := func(kind gatewayv1.AddressType, value string) {
		if value != "" && value != corev1.ClusterIPNone && len(all) < maxAddresses {
			all = append(all, gatewayv1.GatewayStatusAddress{Type: &kind, Value: value})
		}
	}
	switch s.Spec.Type {
	case corev1.ServiceTypeLoadBalancer:
		for _, i := range s.Status.LoadBalancer.Ingress {
			add(gatewayv1.IPAddressType, i.IP)
			if i.IP == "" {
				add(gatewayv1.HostnameAddressType, i.Hostname)
			}
		}
	case corev1.ServiceTypeNodePort:
		for _, at := range p.nodes.list(p.Source) {
			add(gatewayv1.IPAddressType, at)
		}
	default:
		for _, at := range s.Spec.ClusterIPs {
			add(gatewayv1.IPAddressType, at)
		}
	}
	return all
}

// nodeAddresses caches the addresses of the cluster's nodes, at which Services of type NodePort are reached.
type nodeAddresses struct {
	lock  sync.Mutex
	asked time.Time
	known []string
}

// nodesFor is how long cached addresses of nodes are good.
const nodesFor = 30 * time.Second

func (n *nodeAddresses) list(s *Source) []string {
	n.lock.Lock()
	defer n.lock.Unlock()
	if time.Since(n.asked) < nodesFor {
		return n.known
	}
	n.asked = time.Now()
	ctx, stop := context.WithTimeout(context.Background(), urgentAfter)
	defer stop()
	nodes, err := s.client.Resource(machines).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.log.Warn("nodes can't be listed; their addresses stay as they are", "reason", err)
		return n.known
	}
	n.known = nil
	for i := range nodes.Items {
		node := &corev1.Node{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(nodes.Items[i].Object, node) == nil {
			n.known = append(n.known, addressesOf(node)...)
		}
	}
	slices.Sort(n.known)
	return n.known
}

// addressesOf returns a ready node's external addresses or, without any, its internal ones.
func addressesOf(node *corev1.Node) (all []string) {
	if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}) {
		return nil
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeExternalIP, corev1.NodeInternalIP} {
		for _, a := range node.Status.Addresses {
			if _, err := netip.ParseAddr(a.Address); err == nil && a.Type == kind {
				all = append(all, a.Address)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}
