package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tidwall/gjson"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Read gives the configuration that an earlier program left in the folder, for an Envoy may be running on it. It is nil
// when there is none, and it has no Bootstrap.
func (d *Folder) Read() (*envoy.Discovery, error) {
	listeners, err := d.readResources(envoy.ListenersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	clusters, err2 := d.readResources(envoy.ClustersFile)
	extension, err3 := d.readResources(envoy.ExtensionFile)
	found := &envoy.Discovery{Listeners: listeners}
	err = errors.Join(err, err2, err3, d.readClusters(found, clusters), d.readRoutes(found), readPlugin(found, extension))
	return found, err
}

// readResources reads a file and remembers its version.
func (d *Folder) readResources(file string) ([]envoy.Resource, error) {
	text, err := os.ReadFile(filepath.Join(d.Path, file))
	if err != nil {
		return nil, err
	}
	var content struct {
		Version   string            `json:"version_info"`
		Resources []json.RawMessage `json:"resources"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []envoy.Resource
	for _, raw := range content.Resources {
		name := gjson.GetBytes(raw, "name").String()
		if name == "" {
			name = gjson.GetBytes(raw, "cluster_name").String()
		}
		all = append(all, envoy.Resource{Name: name, JSON: raw})
	}
	// What the file says of its version holds if it is one of ours to the byte.
	if f := makeFile(file, "", all...); f.Version == content.Version && string(f.Data) == string(text) {
		d.remember(f)
	}
	return all, nil
}

func (d *Folder) readClusters(found *envoy.Discovery, clusters []envoy.Resource) error {
	for _, c := range clusters {
		cluster, inline := envoy.SplitCluster(c)
		if !inline {
			assignment, err := d.readResources(envoy.EndpointsFile(c.Name))
			if err != nil || len(assignment) != 1 {
				return errors.Join(err, fmt.Errorf("%s: want one resource", envoy.EndpointsFile(c.Name)))
			}
			cluster.Endpoints = envoy.SplitAssignment(assignment[0])
		}
		found.Clusters = append(found.Clusters, cluster)
	}
	return nil
}

func (d *Folder) readRoutes(found *envoy.Discovery) error {
	files, err := filepath.Glob(filepath.Join(d.Path, filepath.Dir(envoy.RoutesFile("x")), "*.json"))
	for _, file := range files {
		relative, _ := filepath.Rel(d.Path, file) // it was found below d.Path
		routes, failed := d.readResources(relative)
		err = errors.Join(err, failed)
		for _, r := range routes {
			found.Routes = append(found.Routes, envoy.Routes{Resource: r, Counters: envoy.RoutesCounters(r.Name)})
		}
	}
	return err
}

// readPlugin takes the filter's configuration out of its resource, and the policies out of the routes that they travel
// with.
func readPlugin(found *envoy.Discovery, extension []envoy.Resource) error {
	if len(extension) != 1 {
		return fmt.Errorf("%s: want one resource", envoy.ExtensionFile)
	}
	text := gjson.GetBytes(extension[0].JSON, "typed_config.config.configuration.value").String()
	plugin, errs := policyconfig.Parse(text)
	if len(errs) > 0 {
		return fmt.Errorf("%s: the plugin configuration can't be read", envoy.ExtensionFile) // errors may hold parts of it
	}
	found.Plugin, found.PluginJSON, found.Filter = plugin, []byte(text), extension[0]
	if len(plugin.Policies) > 0 {
		return fmt.Errorf("%s: the plugin configuration has policies, as earlier versions wrote it", envoy.ExtensionFile)
	}
	return readPolicies(found)
}

// readPolicies reads each policy of the routes once.
func readPolicies(found *envoy.Discovery) error {
	var err error
	known := map[string]bool{}
	for _, table := range found.Routes {
		gjson.GetBytes(table.JSON, "virtual_hosts.#.routes|@flatten").ForEach(func(_, route gjson.Result) bool {
			name, identity, carries := policyconfig.CutIdentity(route.Get("name").String())
			if !carries || known[name+identity] {
				return true
			}
			known[name+identity] = true
			text := route.Get("metadata.filter_metadata." + policyconfig.RouteMetadata + "." + policyconfig.RouteField).String()
			policies, errs := policyconfig.ParseRoute(text, name, found.Plugin.PinHeader)
			if err = errors.Join(err, errs.Err()); err == nil {
				found.Plugin.Policies = appendUnknown(found.Plugin.Policies, policies, known)
			}
			return err == nil
		})
	}
	return err
}

// appendUnknown appends the policies whose names are not known yet.
func appendUnknown(all, more []policyconfig.Policy, known map[string]bool) []policyconfig.Policy {
	for _, p := range more {
		if key := "policy " + p.Name; !known[key] {
			known[key] = true
			all = append(all, p)
		}
	}
	return all
}
