package envoy

import (
	"bytes"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// Cluster is a cluster and its endpoints, apart from each other.
type Cluster struct {
	Name string
	// Settings is the cluster without endpoints, as JSON with its type, and Endpoints its load assignment without.
	Settings, Endpoints []byte
	// Inline says that the endpoints are a part of the cluster, else they have a file of their own.
	Inline bool
}

// newDiscoveredCluster writes a cluster and its endpoints.
func (e *emitter) newDiscoveredCluster(c *ir.Cluster) Cluster {
	return Cluster{
		Name: c.Name, Settings: e.marshalResource(e.newCluster(c)), Endpoints: e.marshalMessage(e.validate(newAssignment(c))),
		Inline: e.files.inline,
	}
}

// Resource is the cluster as Envoy discovers it.
func (c Cluster) Resource() Resource {
	if !c.Inline {
		return Resource{c.Name, c.Settings}
	}
	whole := append([]byte(nil), c.Settings[:len(c.Settings)-1]...)
	whole = append(append(whole, assignmentField...), c.Endpoints...)
	return Resource{c.Name, append(whole, '}')}
}

// assignmentHead is the beginning of a resource of endpoints.
const assignmentHead = `{"@type":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",`

// assignmentField stands between a cluster's settings and its endpoints.
const assignmentField = `,"load_assignment":`

// SplitCluster is the reverse of Cluster.Resource. A cluster that is not inline has its endpoints in another resource.
func SplitCluster(r Resource) (c Cluster, inline bool) {
	settings, endpoints, inline := bytes.Cut(r.JSON, []byte(assignmentField))
	if !inline {
		return Cluster{Name: r.Name, Settings: r.JSON}, false
	}
	settings = append(append([]byte(nil), settings...), '}')
	return Cluster{Name: r.Name, Settings: settings, Endpoints: endpoints[:len(endpoints)-1], Inline: true}, true
}

// SplitAssignment is the reverse of Cluster.Assignment.
func SplitAssignment(r Resource) []byte {
	return append([]byte{'{'}, bytes.TrimPrefix(r.JSON, []byte(assignmentHead))...)
}

// Assignment is the resource with the endpoints, for their file.
func (c Cluster) Assignment() Resource {
	typed := append([]byte(assignmentHead), c.Endpoints[1:]...)
	return Resource{c.Name, typed}
}
