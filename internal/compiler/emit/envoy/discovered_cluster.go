package envoy

import (
	"net"
	"slices"
	"strconv"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// Cluster is a cluster and its endpoints, apart from each other.
type Cluster struct {
	Name string
	// Settings is the cluster without endpoints, and Endpoints its load assignment.
	Settings, Endpoints []byte
	// Moved are hosts among Endpoints that were another pod's, in order: the address, a space and the pod's uid. Proxies that may not know
	// of them get the endpoints without.
	Moved []string
	// Inline says that the endpoints are a part of the cluster, else they have a file of their own.
	Inline bool
}

// newDiscoveredCluster writes a cluster and its endpoints.
func (e *emitter) newDiscoveredCluster(c *ir.Cluster) Cluster {
	d := Cluster{
		Name: c.Name, Settings: e.marshalBinary(e.newCluster(c)),
		Inline: e.files.inline || c.IsNamed(), // discovered endpoints have addresses
	}
	if e.files.served && !d.Inline {
		d.Endpoints, d.Moved = e.marshalBinary(newAssignment(c)), listMoved(c)
	} else {
		d.Endpoints = e.marshalBinary(newAssignment(c.Settled()))
	}
	return d
}

func listMoved(c *ir.Cluster) (all []string) {
	for _, l := range c.Localities {
		for _, host := range l.Endpoints {
			if host.Unsettled != "" {
				all = append(all, host.Address.String()+" "+host.Unsettled)
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

// loadAssignment is the number of Cluster's field.
const loadAssignment = 33

// Resource is the cluster as Envoy discovers it.
func (c Cluster) Resource() Resource {
	if !c.Inline {
		return Resource{c.Name, clusterType, c.Settings}
	}
	whole := append(make([]byte, 0, len(c.Settings)+len(c.Endpoints)+8), c.Settings...)
	whole = protowire.AppendTag(whole, loadAssignment, protowire.BytesType)
	return Resource{c.Name, clusterType, protowire.AppendBytes(whole, c.Endpoints)}
}

// Assignment is the resource with the endpoints, for their file.
func (c Cluster) Assignment() Resource { return Resource{c.Name, assignmentType, c.Endpoints} }

// SplitCluster is the reverse of Cluster.Resource. A cluster that is not inline has its endpoints in another resource. What is no
// cluster of ours stays as it is.
func SplitCluster(r Resource) Cluster {
	for at := 0; at < len(r.Content); {
		number, kind, tag := protowire.ConsumeTag(r.Content[at:])
		value := protowire.ConsumeFieldValue(number, kind, r.Content[at+max(tag, 0):])
		if tag < 0 || value < 0 {
			break
		}
		if number == loadAssignment {
			endpoints, _ := protowire.ConsumeBytes(r.Content[at+tag:])
			return Cluster{Name: r.Name, Settings: r.Content[:at], Endpoints: endpoints, Inline: true}
		}
		at += tag + value
	}
	return Cluster{Name: r.Name, Settings: r.Content}
}
