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

// Cluster is a cluster and its endpoints, as a server sends them.
type Cluster struct {
	Name     string
	Settings *Packed
	// Endpoints are nil where they are a part of Settings, for they have names.
	Endpoints *Packed
	// Secrets are the names of the certificates that hosts are shown, for which an Envoy asks.
	Secrets []string
}

// loadAssignment is the number of Cluster's field.
const loadAssignment = 33

// newDiscoveredCluster writes a cluster and its endpoints.
func (e *emitter) newDiscoveredCluster(c *ir.Cluster) Cluster {
	d := Cluster{Name: c.Name, Settings: e.packResource(c.Name, e.newCluster(c)), Secrets: listShown(c)}
	if !c.IsNamed() {
		d.Endpoints = e.packEndpoints(c)
		return d
	}
	inside := e.marshalBinary(newAssignment(c.Acknowledged())) // for discovered endpoints have addresses
	d.Settings.Content = protowire.AppendTag(d.Settings.Content, loadAssignment, protowire.BytesType)
	d.Settings.Content = protowire.AppendBytes(d.Settings.Content, inside)
	return d
}

// packEndpoints writes a cluster's endpoints, of which none is behind a name.
func (e *emitter) packEndpoints(c *ir.Cluster) *Packed {
	packed := e.packResource(c.Name, newAssignment(c))
	packed.Moved = listMoved(c)
	return packed
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
