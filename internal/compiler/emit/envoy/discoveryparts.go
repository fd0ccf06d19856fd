package envoy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

// The files of a Discovery, below its folder.
const (
	ListenersFile = "lds.json"
	ClustersFile  = "cds.json"
	ExtensionFile = "ecds.json"
)

// What Envoy's counters about those files begin with.
const (
	ListenersCounters = "listener_manager.lds"
	ClustersCounters  = "cluster_manager.cds"
	ExtensionCounters = "extension_config_discovery.http_filter." + limpetFilter
)

// EndpointsCounters is what those about a cluster's endpoints begin with.
func EndpointsCounters(cluster string) string { return "cluster." + statName(cluster) }

// RoutesCounters is what those about routes begin with; the routes' name begins with listener/ADDRESS/PORT.
func RoutesCounters(routes string) string {
	port := strings.Split(routes+"//", "/")[2]
	return "http." + statPrefix(port) + ".rds." + statName(routes)
}

// RoutesFile is the file of a listener's routes.
func RoutesFile(listener string) string { return "rds/" + fileName(listener) }

// EndpointsFile is the file of a cluster's endpoints.
func EndpointsFile(cluster string) string { return "eds/" + fileName(cluster) }

// longName is how many bytes of a name go into a file's; file systems allow 255.
const longName = 180

// fileName is one for each name of a resource: no name of a Kubernetes object has an underscore in it.
func fileName(name string) string {
	flat := strings.NewReplacer("/", "_", "*", "_").Replace(name)
	if len(flat) > longName {
		sum := sha256.Sum256([]byte(name))
		flat = flat[:longName] + "_" + hex.EncodeToString(sum[:])
	}
	return flat + ".json"
}

// discoveryParts collects what is not a part of the message that refers to it.
type discoveryParts struct {
	folder    string
	inline    bool // endpoints stay in their clusters
	routes    []Routes
	endpoints *endpointv3.ClusterLoadAssignment
}

// newFileSource is a file that Envoy watches: it reads it again when another is moved into its place.
func (p *discoveryParts) newFileSource(file string) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: path.Join(p.folder, file)},
		},
	}
}

// placeRoutes gives a listener its routes, or the file that they will be in.
func (e *emitter) placeRoutes(manager *hcmv3.HttpConnectionManager, routes *routev3.RouteConfiguration) {
	if e.parts == nil {
		manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes}
		return
	}
	e.parts.routes = append(e.parts.routes, Routes{
		Resource: Resource{routes.Name, e.fillRoutes(e.marshalResource(routes), routes)},
		Counters: RoutesCounters(routes.Name),
	})
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
		RouteConfigName: routes.Name, ConfigSource: e.parts.newFileSource(RoutesFile(routes.Name)),
	}}
}

// statName is a name as Envoy writes it in those of its counters.
func statName(name string) string { return statNames.Replace(name) }

var statNames = strings.NewReplacer("://", "_", ":/", "_", ":", "_")

// placeEndpoints gives a cluster its endpoints, or the file that they will be in. In pieces, a cluster of type STATIC
// is without those that it needs until its Cluster.Resource puts them in.
func (e *emitter) placeEndpoints(c *clusterv3.Cluster, assignment *endpointv3.ClusterLoadAssignment) {
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	if e.parts == nil {
		c.LoadAssignment = assignment
		return
	}
	e.parts.endpoints = assignment
	if e.parts.inline {
		return
	}
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
	c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: e.parts.newFileSource(EndpointsFile(c.Name))}
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

// newDiscoveredLimpet is the filter with its configuration in a file. It keeps a listener from serving until that is there.
func (e *emitter) newDiscoveredLimpet() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name:     limpetFilter,
		Disabled: true,
		ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
			ConfigSource: e.parts.newFileSource(ExtensionFile),
			TypeUrls:     []string{wasmType},
		}},
	}
}

// wasmType is the type of what is in ExtensionFile, and assignmentHead the beginning of a resource of endpoints.
const (
	wasmType       = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"
	assignmentHead = `{"@type":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",`
)
