package envoy

import (
	"net"
	"slices"
	"strconv"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// Cluster is a cluster and its endpoints, apart from each other.
type Cluster struct {
	Name string
	// Settings is the cluster without endpoints, and Endpoints its load assignment.
	Settings, Endpoints []byte
	// Moved are hosts among Endpoints that were another pod's, in order: the address, a space and the pod's uid. Proxies
	// that may not know of them get the endpoints without.
	Moved []string
	// Inline says that the endpoints are a part of the cluster, for they have names.
	Inline bool
	// Secrets are the names of the certificates that hosts are shown, for which an Envoy asks.
	Secrets []string
}

// newDiscoveredCluster writes a cluster and its endpoints.
func (e *emitter) newDiscoveredCluster(c *ir.Cluster) Cluster {
	d := Cluster{
		Name: c.Name, Settings: e.marshalBinary(e.newCluster(c)),
		Inline:  c.IsNamed(), // discovered endpoints have addresses
		Secrets: listShown(c),
	}
	if d.Inline {
		d.Endpoints = e.marshalBinary(newAssignment(c.Acknowledged()))
	} else {
		d.Endpoints, d.Moved = e.marshalBinary(newAssignment(c)), listMoved(c)
	}
	return d
}

func listShown(c *ir.Cluster) (all []string) {
	for _, l := range c.Localities {
		if l.TLS != nil && l.TLS.Client != nil {
			all = append(all, secretName(*l.TLS.Client))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func listMoved(c *ir.Cluster) (all []string) {
	for _, l := range c.Localities {
		for _, host := range l.Endpoints {
			if host.Unacknowledged != "" {
				all = append(all, host.Address.String()+" "+host.Unacknowledged)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// LeaveOut gives a cluster's endpoints without some of those of Moved.
func LeaveOut(endpoints []byte, moved []string) ([]byte, error) {
	assignment := &endpointv3.ClusterLoadAssignment{}
	if err := proto.Unmarshal(endpoints, assignment); err != nil {
		return nil, err
	}
	hosts := map[string]bool{}
	for _, one := range moved {
		host, _, _ := strings.Cut(one, " ")
		hosts[host] = true
	}
	for _, l := range assignment.GetEndpoints() {
		l.LbEndpoints = slices.DeleteFunc(l.GetLbEndpoints(), func(e *endpointv3.LbEndpoint) bool {
			at := e.GetEndpoint().GetAddress().GetSocketAddress()
			return hosts[net.JoinHostPort(at.GetAddress(), strconv.Itoa(int(at.GetPortValue())))]
		})
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(assignment)
}
