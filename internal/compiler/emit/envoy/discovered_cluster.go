package envoy

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// Cluster is a cluster and its endpoints, apart from each other.
type Cluster struct {
	Name string
	// Settings is the cluster without endpoints, and Endpoints its load assignment.
	Settings, Endpoints []byte
	// Settled are the Endpoints for proxies that may not know whose addresses are; nil where that makes no difference.
	Settled []byte
	// Inline says that the endpoints are a part of the cluster, else they have a file of their own.
	Inline bool
}

// newDiscoveredCluster writes a cluster and its endpoints.
func (e *emitter) newDiscoveredCluster(c *ir.Cluster) Cluster {
	settled := c.Settled()
	d := Cluster{
		Name: c.Name, Settings: e.marshalBinary(e.newCluster(c)), Endpoints: e.marshalBinary(newAssignment(settled)),
		Inline: e.files.inline || c.IsNamed(), // discovered endpoints have addresses
	}
	if settled != c && e.files.served && !d.Inline {
		d.Endpoints, d.Settled = e.marshalBinary(newAssignment(c)), d.Endpoints
	}
	return d
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
