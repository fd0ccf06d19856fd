package rollout

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	dynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/dynamic_modules/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Read gives the configuration that an earlier program left in the folder, for an Envoy may be running on it. It is nil
// when there is none, and it has no Bootstrap.
func (d *Folder) Read() (*envoy.Discovery, error) {
	listeners, err := d.readResources(envoy.ListenersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.findEarlier()
	}
	d.keepMode()
	listeners = slices.DeleteFunc(listeners, func(l envoy.Resource) bool { return envoy.IsTrial(l.Name) })
	clusters, err2 := d.readResources(envoy.ClustersFile)
	extension, err3 := d.readExtension(listeners)
	found := &envoy.Discovery{Listeners: listeners}
	err = errors.Join(err, err2, err3, d.readClusters(found, clusters), d.readRoutes(found), readPlugin(found, extension))
	return found, err
}

// errEarlier is of a folder that a version has left which wrote JSON.
var errEarlier = errors.New("its files are JSON, as earlier versions wrote them; an Envoy that follows those has to be started anew, " +
	"with the new envoy.yaml")

// findEarlier gives the error of a folder without listeners.
func (d *Folder) findEarlier() error {
	if _, err := os.Stat(filepath.Join(d.Path, listenersJSON)); err == nil {
		return errEarlier
	}
	return nil
}

// readResources reads a file and remembers its version.
func (d *Folder) readResources(file string) ([]envoy.Resource, error) {
	data, err := os.ReadFile(filepath.Join(d.Path, file))
	if err != nil {
		return nil, err
	}
	content := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(data, content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []envoy.Resource
	for _, r := range content.GetResources() {
		name, err := nameResource(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, envoy.Resource{Name: name, TypeURL: r.GetTypeUrl(), Content: r.GetValue()})
	}
	// What the file says of its version holds if it is one of ours to the byte.
	if f := makeFile(file, "", all...); f.Version == content.GetVersionInfo() && bytes.Equal(f.Data, data) {
		d.remember(f)
	}
	return all, nil
}

// readExtension reads the filter's resource, of the one that listeners refer to or else the one that there is.
func (d *Folder) readExtension(listeners []envoy.Resource) ([]envoy.Resource, error) {
	wasm, native := envoy.ExtensionFile(envoy.FilterName(false)), envoy.ExtensionFile(envoy.FilterName(true))
	if slices.ContainsFunc(listeners, func(l envoy.Resource) bool { return bytes.Contains(l.Content, []byte("/"+native)) }) {
		return d.readResources(native)
	}
	found, err := d.readResources(wasm)
	if errors.Is(err, fs.ErrNotExist) && len(listeners) == 0 {
		return d.readResources(native)
	}
	return found, err
}

// nameResource gives the name that a resource has in itself.
func nameResource(r *anypb.Any) (string, error) {
	m, err := r.UnmarshalNew()
	if err != nil {
		return "", err
	}
	switch named := m.(type) {
	case interface{ GetName() string }:
		return named.GetName(), nil
	case *endpointv3.ClusterLoadAssignment:
		return named.GetClusterName(), nil
	}
	return "", fmt.Errorf("a resource of type %s", r.GetTypeUrl())
}

func (d *Folder) readClusters(found *envoy.Discovery, clusters []envoy.Resource) error {
	for _, c := range clusters {
		cluster := envoy.SplitCluster(c)
		if !cluster.Inline {
			assignment, err := d.readResources(envoy.EndpointsFile(c.Name))
			if err != nil || len(assignment) != 1 {
				return errors.Join(err, fmt.Errorf("%s: want one resource", envoy.EndpointsFile(c.Name)))
			}
			cluster.Endpoints = assignment[0].Content
		}
		found.Clusters = append(found.Clusters, cluster)
	}
	return nil
}

func (d *Folder) readRoutes(found *envoy.Discovery) error {
	files, err := filepath.Glob(filepath.Join(d.Path, filepath.Dir(envoy.RoutesFile("x")), "*"+envoy.FileSuffix))
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
		return errors.New("the filter's settings: want one resource")
	}
	text, err := readPluginText(extension[0].Content)
	if err != nil {
		return fmt.Errorf("%s: %w", envoy.ExtensionFile(extension[0].Name), err)
	}
	plugin, errs := policyconfig.Parse(text)
	if len(errs) > 0 {
		return fmt.Errorf("%s: the plugin configuration can't be read", envoy.ExtensionFile(extension[0].Name)) // errors may hold parts of it
	}
	found.Plugin, found.PluginJSON, found.Filter = plugin, []byte(text), extension[0]
	if len(plugin.Policies) > 0 {
		return fmt.Errorf("%s: the plugin configuration has policies, as earlier versions wrote it", envoy.ExtensionFile(extension[0].Name))
	}
	return readPolicies(found)
}

// readPluginText takes the filter's configuration out of its resource.
func readPluginText(content []byte) (string, error) {
	extension, text := &corev3.TypedExtensionConfig{}, &wrapperspb.StringValue{}
	if err := proto.Unmarshal(content, extension); err != nil {
		return "", err
	}
	filter, err := extension.GetTypedConfig().UnmarshalNew()
	if err != nil {
		return "", err
	}
	switch filter := filter.(type) {
	case *wasmv3.Wasm:
		err = filter.GetConfig().GetConfiguration().UnmarshalTo(text)
	case *dynamicmodulesv3.DynamicModuleFilter:
		err = filter.GetFilterConfig().UnmarshalTo(text)
	default:
		err = fmt.Errorf("a filter of type %s", extension.GetTypedConfig().GetTypeUrl())
	}
	return text.GetValue(), err
}

// readPolicies reads each policy of the routes once.
func readPolicies(found *envoy.Discovery) error {
	known := map[string]bool{}
	for _, table := range found.Routes {
		config := &routev3.RouteConfiguration{}
		if err := proto.Unmarshal(table.Content, config); err != nil {
			return err
		}
		for _, host := range config.GetVirtualHosts() {
			for _, route := range host.GetRoutes() {
				if err := readRoutePolicies(found, route, known); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readRoutePolicies reads the policies of a route whose name is not known yet.
func readRoutePolicies(found *envoy.Discovery, route *routev3.Route, known map[string]bool) error {
	name, identity, carries := policyconfig.CutIdentity(route.GetName())
	if !carries || known[name+identity] {
		return nil
	}
	known[name+identity] = true
	fields := route.GetMetadata().GetFilterMetadata()[policyconfig.RouteMetadata].GetFields()
	policies, errs := policyconfig.ParseRoute(fields[policyconfig.RouteField].GetStringValue(), name, found.Plugin.PinHeader)
	if err := errs.Err(); err != nil {
		return err
	}
	found.Plugin.Policies = appendUnknown(found.Plugin.Policies, policies, known)
	return nil
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
