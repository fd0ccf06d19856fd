package envoy

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// FileSuffix is that of the files of a Discovery, by which Envoy knows that they hold protobuf's bytes: it reads those in a third
// of the time that it takes over JSON.
const FileSuffix = ".pb"

// The files of a Discovery, below its folder.
const (
	ListenersFile = "lds" + FileSuffix
	ClustersFile  = "cds" + FileSuffix
)

// What Envoy's counters about those files begin with.
const (
	ListenersCounters = "listener_manager.lds"
	ClustersCounters  = "cluster_manager.cds"
)

// ExtensionCounters is what those about a filter's resource begin with.
func ExtensionCounters(filter string) string {
	return "extension_config_discovery.http_filter." + filter
}

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
	return flat + FileSuffix
}

// fileLayout says in which files a configuration is.
type fileLayout struct {
	discovered bool   // or else all of it is a bootstrap
	folder     string // of the files that Envoy discovers
	inline     bool   // endpoints stay in their clusters
	served     bool   // there are no files: Envoy discovers all of it from a server (ADS)
}

// newSource is a file that Envoy watches: it reads it again when another is moved into its place. Or it is the server.
func (l fileLayout) newSource(file string) *corev3.ConfigSource {
	if l.served {
		return newServerSource()
	}
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: path.Join(l.folder, file)},
		},
	}
}

// statName is a name as Envoy writes it in those of its counters.
func statName(name string) string { return statNames.Replace(name) }

var statNames = strings.NewReplacer("://", "_", ":/", "_", ":", "_")
