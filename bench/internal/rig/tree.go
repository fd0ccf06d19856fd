package rig

import (
	"encoding/json"
	"fmt"
	"slices"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// object is a piece of an Envoy configuration as YAML's own maps and lists.
type object = map[string]any

// at follows keys and list indices into a configuration. The configuration is limpet's own, so a wrong path is a fault
// of the bench and panics.
func at(node any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			node = node.(object)[step]
		case int:
			node = node.([]any)[step]
		}
	}
	return node
}

// clone copies a configuration.
func clone[T any](node T) T {
	text, err := json.Marshal(node)
	var out T
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("copying an Envoy configuration: %v", err))
	}
	return out
}

// The names of the HTTP filters that limpet compile emits.
const (
	fence  = "envoy.filters.http.header_mutation"
	limpet = "limpet"
	pinner = "envoy.filters.http.stateful_session"
	router = "envoy.filters.http.router"
)

// listenerTree is one Envoy listener, made by limpet compile and changed from there.
type listenerTree object

func (l listenerTree) manager() object {
	return at(object(l), "filter_chains", 0, "filters", 0, "typed_config").(object)
}

// routes are the routes of the only virtual host.
func (l listenerTree) routes() []any {
	return at(l.manager(), "route_config", "virtual_hosts", 0, "routes").([]any)
}

func (l listenerTree) filter(name string) object {
	for _, filter := range l.manager()["http_filters"].([]any) {
		if filter.(object)["name"] == name {
			return filter.(object)
		}
	}
	panic("limpet compile emits no filter " + name)
}

// keep leaves only the filters of these names, and what routes say about them.
func (l listenerTree) keep(names ...string) {
	wanted := map[string]bool{router: true}
	for _, name := range names {
		wanted[name] = true
	}
	var kept []any
	for _, filter := range l.manager()["http_filters"].([]any) {
		if wanted[filter.(object)["name"].(string)] {
			kept = append(kept, filter)
		}
	}
	l.manager()["http_filters"] = kept
	for _, route := range l.routes() {
		perFilter, _ := route.(object)["typed_per_filter_config"].(object)
		for name := range perFilter {
			if !wanted[name] {
				delete(perFilter, name)
			}
		}
	}
}

// dropHeaderRemovals deletes the header removals, which only a pin header needs.
func (l listenerTree) dropHeaderRemovals() {
	config := at(l.manager(), "route_config").(object)
	delete(config, "request_headers_to_remove")
	delete(config, "response_headers_to_remove")
}

// rename gives the listener a name and a port of its own.
func (l listenerTree) rename(name string, port int) {
	l["name"] = name
	at(object(l), "address", "socket_address").(object)["port_value"] = port
	l.manager()["stat_prefix"] = name
}

// plugin is the wasm filter's configuration: module, VM and plugin configuration.
func (l listenerTree) plugin() object { return at(l.filter(limpet), "typed_config", "config").(object) }

// module makes the wasm filter run another module, with a configuration of its own, in a VM of its own.
func (l listenerTree) module(path, vmID, configuration string) {
	plugin := l.plugin()
	plugin["configuration"] = object{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": configuration}
	vm := plugin["vm_config"].(object)
	vm["vm_id"] = vmID
	vm["code"] = object{"local": object{"filename": path}}
}

// policies reads limpet's plugin configuration, with the policies that travel with routes.
func (l listenerTree) policies() (policyconfig.Config, error) {
	config, errs := policyconfig.Parse(at(l.plugin(), "configuration", "value").(string))
	for _, r := range l.routes() {
		metadata, _ := r.(object)["metadata"].(object)
		if metadata == nil || len(errs) > 0 {
			continue
		}
		name, _, _ := policyconfig.CutIdentity(r.(object)["name"].(string))
		text := at(metadata, "filter_metadata", policyconfig.RouteMetadata, policyconfig.RouteField).(string)
		var own []policyconfig.Policy
		own, errs = policyconfig.ParseRoute(text, name, config.PinHeader)
		config.Policies = append(config.Policies, own...)
	}
	if len(errs) > 0 {
		return config, errs
	}
	return config, nil
}

// carry moves policies into the metadata of their routes. Policies of routes that the listener lacks stay in config.
func (l listenerTree) carry(config *policyconfig.Config) error {
	carried := map[string]bool{}
	for _, r := range l.routes() {
		route := r.(object)
		name, _, _ := policyconfig.CutIdentity(route["name"].(string))
		var own []policyconfig.Policy
		for _, p := range config.Policies {
			if slices.Contains(p.Routes, name) {
				own = append(own, p)
				carried[p.Name] = true
			}
		}
		route["name"] = name
		delete(route, "metadata")
		if len(own) == 0 {
			continue
		}
		named, text, err := policyconfig.WriteRoute(name, own, config.PinHeader)
		if err != nil {
			return err
		}
		route["name"] = named
		route["metadata"] = object{
			"filter_metadata": object{policyconfig.RouteMetadata: object{policyconfig.RouteField: text}},
		}
	}
	config.Policies = slices.DeleteFunc(config.Policies, func(p policyconfig.Policy) bool { return carried[p.Name] })
	return nil
}
